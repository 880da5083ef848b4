// SPDX-License-Identifier: Apache-2.0
//
// Codec tables for every size of the world, made from two loops that take the world as an argument.
// A codec is a pair of plain functions without a context, so the world's bits must be part of the
// codec's type.
#pragma once

#include <array>
#include <utility>

#include "core/tensor_codec.h"
#include "numeric/adders/agreed.h"
#include "numeric/codec.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {

// `Loops` has, for each float format, encode_chunk(AgreedWorld, ...) and decode_chunk(...).
template <typename Loops, typename Format, core::Reduction kReduction>
class AgreedTable {
 public:
  static const core::TensorCodec* find(std::uint32_t world) {
    if (world == 0 || world > kAgreedWorldMax) return nullptr;
    const AgreedWorld bits = agreed_world(world);
    const std::int32_t index = bits.rank_bits + bits.count_bits;
    return &kCodecs[static_cast<std::size_t>(index)];
  }

 private:
  // count_bits is rank_bits, or one more if the world is a power of two.
  template <std::size_t kIndex>
  static constexpr AgreedWorld kWorld = {kIndex / 2, (kIndex + 1) / 2};

  template <std::size_t kIndex>
  static bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
                     const std::uint16_t* codes, std::byte*, std::byte* elements) {
    Loops::template encode_chunk<Format>(kWorld<kIndex>, tensor, range, codes, elements);
    return false;  // specials are counts inside the lanes, so no packet is marked
  }

  template <std::size_t kIndex>
  static void decode(void*, std::byte* tensor, core::ChunkRange range,
                     const core::TensorCodec::Received& received) {
    const std::uint32_t divisor = kReduction == core::Reduction::average ? received.divisor : 1;
    Loops::template decode_chunk<Format>(kWorld<kIndex>, tensor, range, divisor, received);
  }

  template <std::size_t... kIndex>
  static constexpr auto make(std::index_sequence<kIndex...>) {
    return std::array<core::TensorCodec, sizeof...(kIndex)>{
        core::TensorCodec{.element_bytes = sizeof(typename Format::Bits),
                          .encode = encode<kIndex>,
                          .decode = decode<kIndex>}...};
  }

  static constexpr std::size_t kSize = 2 * (core::ceil_log2(kAgreedWorldMax) + 1);
  static constexpr auto kCodecs = make(std::make_index_sequence<kSize>());
};

template <typename Loops, core::Reduction kReduction>
const core::TensorCodec* find_agreed(core::DataType dtype, std::uint32_t world) {
  switch (dtype) {
    case core::DataType::f32: return AgreedTable<Loops, F32, kReduction>::find(world);
    case core::DataType::f16: return AgreedTable<Loops, F16, kReduction>::find(world);
    case core::DataType::bf16: return AgreedTable<Loops, Bf16, kReduction>::find(world);
    case core::DataType::f64: return AgreedTable<Loops, F64, kReduction>::find(world);
    default: return nullptr;
  }
}

template <typename Loops>
const core::TensorCodec* find_agreed(core::DataType dtype, core::Reduction reduction,
                                     std::uint32_t world) {
  switch (reduction) {
    case core::Reduction::sum: return find_agreed<Loops, core::Reduction::sum>(dtype, world);
    case core::Reduction::average:
      return find_agreed<Loops, core::Reduction::average>(dtype, world);
    default: return nullptr;
  }
}

}  // namespace infold::numeric
