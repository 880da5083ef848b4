// SPDX-License-Identifier: Apache-2.0
//
// The scalar codec for chunks of floats with agreed exponents, and the codes that ranks agree on.
#include <algorithm>

#include "numeric/adders/agreed_table.h"

namespace infold::numeric {
namespace {

// Calls step(block, first element, elements) for every block of a chunk.
template <typename Format, typename Step>
void for_each_block(std::uint32_t elements, Step step) {
  constexpr std::uint32_t kBlock = block_layout<Format, std::int32_t>().block_elements();
  for (std::uint32_t first = 0, block = 0; first < elements; first += kBlock, ++block) {
    step(block, first, std::min(kBlock, elements - first));
  }
}

struct ScalarLoops {
  template <typename Format>
  static void encode_chunk(AgreedWorld world, const std::byte* tensor, core::ChunkRange range,
                           const std::uint16_t* codes, std::byte* lanes) {
    const std::byte* source = tensor + range.first * sizeof(typename Format::Bits);
    for_each_block<Format>(
        range.elements, [=](std::uint32_t block, std::uint32_t first, std::uint32_t count) {
          encode_agreed_block<Format>(source + first * sizeof(typename Format::Bits), count, world,
                                      codes[block], lanes + first * sizeof(std::int32_t));
        });
  }

  template <typename Format>
  static void decode_chunk(AgreedWorld world, std::byte* tensor, core::ChunkRange range,
                           std::uint32_t divisor, const core::TensorCodec::Received& received) {
    std::byte* target = tensor + range.first * sizeof(typename Format::Bits);
    for_each_block<Format>(
        range.elements, [=](std::uint32_t block, std::uint32_t first, std::uint32_t count) {
          decode_agreed_block<Format>(target + first * sizeof(typename Format::Bits), count, world,
                                      received.codes[block], divisor,
                                      received.elements + first * sizeof(std::int32_t));
        });
  }
};

template <typename Format>
void write_own_codes(const std::byte* tensor, core::ChunkRange range, std::uint16_t* codes) {
  const std::byte* source = tensor + range.first * sizeof(typename Format::Bits);
  for_each_block<Format>(
      range.elements, [=](std::uint32_t block, std::uint32_t first, std::uint32_t count) {
        const BlockMaximum<Format> maximum =
            block_maximum<Format>(source + first * sizeof(typename Format::Bits), count);
        const std::int32_t code =
            maximum.finite == 0 ? 0 : block_code<Format, std::int32_t>(maximum.finite, 0);
        codes[block] = static_cast<std::uint16_t>(code | (maximum.specials ? kAgreedSpecial : 0));
      });
}

}  // namespace

const core::TensorCodec* scalar_agreed_codec(core::DataType dtype, core::Reduction reduction,
                                             std::uint32_t world) {
  return find_agreed<ScalarLoops>(dtype, reduction, world);
}

void scalar_block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                        std::uint16_t* codes) {
  switch (dtype) {
    case core::DataType::f32: return write_own_codes<F32>(tensor, range, codes);
    case core::DataType::f16: return write_own_codes<F16>(tensor, range, codes);
    case core::DataType::bf16: return write_own_codes<Bf16>(tensor, range, codes);
    case core::DataType::f64: return write_own_codes<F64>(tensor, range, codes);
    default: return;
  }
}

}  // namespace infold::numeric
