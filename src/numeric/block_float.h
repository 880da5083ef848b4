// SPDX-License-Identifier: Apache-2.0
//
// Block floating point, one block at a time: the scalar loops that define the format (spec section
// 3), and the constants that vector versions share with them. A chunk's codec is these loops over
// its blocks; a vector version hands them every block that is not plain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "numeric/float_bits.h"

namespace infold::numeric {

template <typename Format, typename Mantissa>
constexpr core::ElementLayout block_layout() {
  const auto format = sizeof(Mantissa) == 1   ? core::WireFormat::bfp8
                      : sizeof(Mantissa) == 2 ? core::WireFormat::bfp16
                                              : core::WireFormat::bfp32;
  return {format, Format::kDtype};
}

// Added to a magnitude's bits, this carries into the exponent field exactly if the significand
// would round above the mantissa limit: the code is then one higher. A significand no
// longer than the mantissa never does.
template <typename Format, typename Mantissa>
constexpr typename Format::Bits code_carry() {
  const core::ElementLayout layout = block_layout<Format, Mantissa>();
  const int dropped_bits = Format::kFractionBits - layout.mantissa_top_bit();
  if (dropped_bits < 1) return 0;
  const auto limit = static_cast<std::uint64_t>(layout.mantissa_limit());
  const std::uint64_t highest = ((2 * limit + 1) << dropped_bits) >> 1;
  return static_cast<typename Format::Bits>((std::uint64_t{2} << Format::kFractionBits) - 1 -
                                            highest);
}

struct BlockCode {
  std::uint16_t code = 0;
  bool specials = false;
};

// Encodes `count` elements, at most a block, into mantissas; `floor` is the lowest code allowed
// unless 0.
template <typename Format, typename Mantissa>
BlockCode encode_block(const std::byte* tensor, std::uint32_t count, std::uint16_t floor,
                       std::byte* mantissas);

struct BlockScale {
  std::uint32_t code = 0;  // as received: whatever two bytes can say
  std::uint32_t divisor = 1;
  bool specials = false;
};

template <typename Format, typename Mantissa>
void decode_block(std::byte* tensor, std::uint32_t count, BlockScale scale,
                  const std::byte* mantissas);

// mantissa * 2^unit / divisor as a number of the format: one rounding of the quotient to double,
// one to f32 (f64 has none), and for the 16-bit types one from there.
template <typename Format>
typename Format::Bits scaled(std::int64_t mantissa, std::int32_t unit, std::uint32_t divisor);

// The largest magnitude among finite elements, as bits, and whether there are others.
template <typename Format>
struct BlockMaximum {
  typename Format::Bits finite = 0;
  bool specials = false;
};
template <typename Format>
BlockMaximum<Format> block_maximum(const std::byte* tensor, std::uint32_t count);

// The code of a block whose largest magnitude this is, not below `floor` unless 0.
// Requires: finite and not zero.
template <typename Format, typename Mantissa>
std::int32_t block_code(typename Format::Bits largest, std::uint16_t floor);

}  // namespace infold::numeric
