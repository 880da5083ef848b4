// SPDX-License-Identifier: Apache-2.0
//
// Floats as 32-bit integers in a unit that all ranks agreed on beforehand, one block at a
// time, scalar. A plane that can only add can sum these integers, because the upper bits have room
// for every rank.
//
//   plain block     | mantissa, 32 bits, a rank's within 31 - rank_bits and a sign    |
//   with specials   | mantissa, 32 - 2K bits | +Inf count, K bits | -Inf count, K bits |
//
// Here rank_bits = ceil(log2(world)) and K = count_bits = ceil(log2(world + 1)). A NaN counts as
// both infinities. In a block with specials, finite elements keep 31 - 2K - rank_bits bits: 20 at 8
// ranks, 5 at 256, and 4 at 511, which is kAgreedWorldMax.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "numeric/block_float.h"

namespace infold::numeric {

struct AgreedWorld {
  std::int32_t rank_bits = 0;
  std::int32_t count_bits = 0;

  // Returns the bits of a rank's magnitude, in a block with or without specials.
  constexpr std::int32_t magnitude_bits(bool specials) const {
    return 31 - rank_bits - (specials ? 2 * count_bits : 0);
  }
  // Returns the largest magnitude that a rank sends, so that no sum over all ranks overflows.
  // Without the limit, only the block's largest element could be rounded to one more. That element
  // may be off by almost a unit, all others by at most half a unit.
  constexpr std::int64_t limit(bool specials) const {
    return (std::int64_t{1} << magnitude_bits(specials)) - 1;
  }
};

constexpr AgreedWorld agreed_world(std::uint32_t world) {
  return {static_cast<std::int32_t>(core::ceil_log2(world)),
          static_cast<std::int32_t>(core::ceil_log2(world + 1))};
}

// Returns u, where 2^u is the value of lane 1. An element of a block with code c is below 2^(c -
// bias + 1).
template <typename Format>
constexpr std::int32_t agreed_unit(AgreedWorld world, std::uint16_t agreed_code, bool specials) {
  const core::ElementLayout layout = {core::WireFormat::bfp32, Format::kDtype};
  return agreed_code - layout.exponent_bias() + 1 - world.magnitude_bits(specials);
}

// `agreed` is a code, with kAgreedSpecial if some rank has a special in the block. Elements that
// are too large for the code are cut off at the limit. This happens only if ranks disagree about
// the code.
template <typename Format>
void encode_agreed_block(const std::byte* tensor, std::uint32_t count, AgreedWorld world,
                         std::uint16_t agreed, std::byte* lanes);

template <typename Format>
void decode_agreed_block(std::byte* tensor, std::uint32_t count, AgreedWorld world,
                         std::uint16_t agreed, std::uint32_t divisor, const std::byte* lanes);

}  // namespace infold::numeric
