// SPDX-License-Identifier: Apache-2.0
//
// What an aggregator does to elements: the table of inner loops, and the scalar loops that define
// what every other version must produce, bit for bit (spec section 4). The scalar ones stay below
// core so that an aggregator runs anywhere; src/numeric has the fast table. Integer operations
// only, as in every plane. Stateless; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace infold::core {

// What to do with one block of a contribution. Both shifts are at most 63.
struct BlockStep {
  enum class Action : std::uint8_t { skip, store, add };
  Action action = Action::skip;  // store: lane = m; add: lane = (lane << lanes) + (m << added)
  std::uint8_t lane_shift = 0;
  std::uint8_t mantissa_shift = 0;
};

struct Arithmetic {
  using Combine = void (*)(std::byte* into, const std::byte* elements, std::uint32_t count);
  // into[i] = into[i] op elements[i] on integers of 8, 16, 32, 64 bits, wrapping modulo 2^width.
  Combine sum[4];
  Combine min[4];
  Combine max[4];

  // Brings one contribution into the 64-bit lanes, block by block. `steps` has one entry per
  // block. Indexed by mantissa width: 8, 16, 32 bits, and 64 for another aggregator's lanes.
  using Accumulate = void (*)(std::int64_t* lanes, const std::byte* mantissas, std::uint32_t count,
                              std::uint32_t block_elements, const BlockStep* steps);
  Accumulate accumulate[4];

  // Re-encodes lanes by each block's own maximum. `lane_codes[b]` is the exponent code whose unit
  // the block's lanes count in, 0 for an empty block; `codes[b]` gets the code of the result.
  // Writes all mantissas. Returns whether some element overflowed the largest code and became an
  // infinity code.
  using Encode = bool (*)(const std::int64_t* lanes, std::uint32_t count, ElementLayout layout,
                          const std::uint16_t* lane_codes, std::uint16_t* codes,
                          std::byte* mantissas);
  Encode encode[3];
};

// The defining loops.
const Arithmetic& scalar_arithmetic();

// Index into sum, min, max for an integer format. Requires: not a block float.
constexpr std::uint32_t integer_index(WireFormat format) {
  return static_cast<std::uint32_t>(format);
}
// Index into accumulate and encode. Requires: a block float.
constexpr std::uint32_t mantissa_index(WireFormat format) {
  return static_cast<std::uint32_t>(format) - INFOLD_FORMAT_BFP8;
}

}  // namespace infold::core
