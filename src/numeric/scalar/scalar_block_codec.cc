// SPDX-License-Identifier: Apache-2.0
//
// The scalar codec for chunks of block floats, which runs the block loops over every block of a
// chunk.
#include <algorithm>

#include "numeric/block_float.h"
#include "numeric/exponents.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {
namespace {

template <typename Format, typename Mantissa>
bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
            const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  constexpr std::uint32_t kBlock = kLayout.block_elements();
  const std::byte* source = tensor + range.first * sizeof(typename Format::Bits);
  bool specials = false;
  for (std::uint32_t first = 0, block = 0; first < range.elements; first += kBlock, ++block) {
    const BlockCode result = encode_block<Format, Mantissa>(
        source + first * sizeof(typename Format::Bits), std::min(kBlock, range.elements - first),
        codes == nullptr ? std::uint16_t{0} : codes[block], elements + first * sizeof(Mantissa));
    write_code<kLayout.wide_exponents()>(exponents, block, result.code);
    specials |= result.specials;
  }
  write_padding(exponents, kLayout, range.elements);
  return specials;
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
void decode(void*, std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  constexpr std::uint32_t kBlock = kLayout.block_elements();
  std::byte* target = tensor + range.first * sizeof(typename Format::Bits);
  for (std::uint32_t first = 0, block = 0; first < range.elements; first += kBlock, ++block) {
    const BlockScale scale = {
        .code = read_code<kLayout.wide_exponents()>(received.exponents, block),
        .divisor = kReduction == core::Reduction::average ? received.divisor : 1,
        .specials = received.specials};
    decode_block<Format, Mantissa>(target + first * sizeof(typename Format::Bits),
                                   std::min(kBlock, range.elements - first), scale,
                                   received.elements + first * sizeof(Mantissa));
  }
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
constexpr core::TensorCodec kCodec = {.element_bytes = sizeof(typename Format::Bits),
                                      .encode = encode<Format, Mantissa>,
                                      .decode = decode<Format, Mantissa, kReduction>};

template <typename Format, core::Reduction kReduction>
const core::TensorCodec* by_format(core::WireFormat format) {
  switch (format) {
    case core::WireFormat::bfp8: return &kCodec<Format, std::int8_t, kReduction>;
    case core::WireFormat::bfp16: return &kCodec<Format, std::int16_t, kReduction>;
    case core::WireFormat::bfp32: return &kCodec<Format, std::int32_t, kReduction>;
    default: return nullptr;
  }
}

template <core::Reduction kReduction>
const core::TensorCodec* by_type(core::DataType dtype, core::WireFormat format) {
  switch (dtype) {
    case core::DataType::f32: return by_format<F32, kReduction>(format);
    case core::DataType::f16: return by_format<F16, kReduction>(format);
    case core::DataType::bf16: return by_format<Bf16, kReduction>(format);
    case core::DataType::f64: return by_format<F64, kReduction>(format);
    default: return nullptr;
  }
}

}  // namespace

const core::TensorCodec* scalar_block_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction) {
  switch (reduction) {
    case core::Reduction::sum: return by_type<core::Reduction::sum>(dtype, format);
    case core::Reduction::average: return by_type<core::Reduction::average>(dtype, format);
    default: return nullptr;
  }
}

}  // namespace infold::numeric
