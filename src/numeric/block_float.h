// SPDX-License-Identifier: Apache-2.0
//
// Block floating point, one block at a time. These scalar loops define the format (spec section 3),
// and vector versions share the constants. A scalar codec runs these loops over a chunk's blocks. A
// vector codec uses them for every block that is not plain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "numeric/floats.h"

namespace infold::numeric {

template <typename Format, typename Mantissa>
constexpr core::ElementLayout block_layout() {
  const auto format = sizeof(Mantissa) == 1   ? core::WireFormat::bfp8
                      : sizeof(Mantissa) == 2 ? core::WireFormat::bfp16
                                              : core::WireFormat::bfp32;
  return {format, Format::kDtype};
}

// Returns a constant to add to a magnitude's bits. The addition carries into the exponent field
// exactly if the significand would round above the mantissa's limit, and the code is then one
// higher. A significand that is not longer than the mantissa never rounds up.
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

// Encodes `count` elements, at most a block, into mantissas. `floor` is the lowest allowed code; 0
// means none.
template <typename Format, typename Mantissa>
BlockCode encode_block(const std::byte* tensor, std::uint32_t count, std::uint16_t floor,
                       std::byte* mantissas);

struct BlockScale {
  std::uint32_t code = 0;  // as received, so any two-byte value
  std::uint32_t divisor = 1;
  bool specials = false;
};

template <typename Format, typename Mantissa>
void decode_block(std::byte* tensor, std::uint32_t count, BlockScale scale,
                  const std::byte* mantissas);

// Returns mantissa * 2^unit / divisor as a number of the format. The quotient is rounded once to
// double and, except for f64, once to f32. The 16-bit types are rounded once more from f32.
template <typename Format>
typename Format::Bits scaled(std::int64_t mantissa, std::int32_t unit, std::uint32_t divisor);

// The bits of the largest magnitude among finite elements. `specials` is true if there are NaN or
// infinities.
template <typename Format>
struct BlockMaximum {
  typename Format::Bits finite = 0;
  bool specials = false;
};
template <typename Format>
BlockMaximum<Format> block_maximum(const std::byte* tensor, std::uint32_t count);

// Returns the code of a block whose largest magnitude this is, but at least `floor` unless
// that is 0. Requires: `largest` is finite and not zero.
template <typename Format, typename Mantissa>
std::int32_t block_code(typename Format::Bits largest, std::uint16_t floor);

}  // namespace infold::numeric
