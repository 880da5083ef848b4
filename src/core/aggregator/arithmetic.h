// SPDX-License-Identifier: Apache-2.0
//
// What an aggregator does to elements: the table of inner loops, and the scalar loops that define
// what every other version must produce, bit for bit (spec section 4). The scalar ones stay below
// core so that an aggregator runs anywhere; src/numeric has the fast table. Integer operations
// only, as in every plane. Stateless; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/exact/exact_arithmetic.h"
#include "core/format.h"

namespace infold::core {

// Lanes are as narrow as exactness allows, and no one outside an aggregator sees how narrow.
enum class LaneWidth : std::uint8_t { bits16, bits32, bits64 };
inline constexpr std::size_t kLaneWidths = 3;
constexpr std::uint32_t lane_bytes(LaneWidth width) { return 2U << static_cast<unsigned>(width); }
constexpr std::size_t lane_index(LaneWidth width) { return static_cast<std::size_t>(width); }

// What to do with one block of a contribution: a word, so that many are planned at once.
class BlockStep {
 public:
  enum class Action : std::uint8_t { skip, store, add };
  static constexpr std::uint16_t kActionMask = 3;
  static constexpr int kLaneShiftAt = 2;
  static constexpr int kMantissaShiftAt = 8;
  static constexpr std::uint16_t kShiftMask = 63;

  constexpr BlockStep() = default;
  // store: lane = m; add: lane = (lane << lane_shift) + (m << mantissa_shift).
  // Requires: both shifts are less than the bits of a lane.
  constexpr BlockStep(Action action, std::uint32_t lane_shift, std::uint32_t mantissa_shift)
      : word_(static_cast<std::uint16_t>(static_cast<std::uint32_t>(action) |
                                         lane_shift << kLaneShiftAt |
                                         mantissa_shift << kMantissaShiftAt)) {}

  friend bool operator==(BlockStep, BlockStep) = default;
  constexpr Action action() const { return static_cast<Action>(word_ & kActionMask); }
  constexpr std::uint32_t lane_shift() const { return word_ >> kLaneShiftAt & kShiftMask; }
  constexpr std::uint32_t mantissa_shift() const { return word_ >> kMantissaShiftAt; }

 private:
  std::uint16_t word_ = 0;  // nothing else: loops load steps as words
};
static_assert(sizeof(BlockStep) == sizeof(std::uint16_t));

// Exponent codes of blocks, 0 where there is none but zeros: of a contribution, lowest and highest,
// which are the same but for partial sums; and of the lanes, their unit and the largest seen.
struct BlockCodes {
  const std::uint16_t* low;
  const std::uint16_t* high;
  std::uint16_t* lane_low;
  std::uint16_t* lane_high;
};

// Arrays of codes and steps have room for a multiple of this, so that loops over them need no tail;
// a contribution's codes are 0 there.
inline constexpr std::uint32_t kBlocksTogether = 32;

struct Arithmetic {
  using Combine = void (*)(std::byte* into, const std::byte* elements, std::uint32_t count);
  // into[i] = into[i] op elements[i] on integers of 8, 16, 32, 64 bits, wrapping modulo 2^width.
  Combine sum[4];
  Combine min[4];
  Combine max[4];
  Combine bit_or[4];

  // Decides how each block of a contribution joins the lanes, and gives these its codes.
  // Returns how far apart the codes of a block lie at most. Where that is more than shifts
  // can be, steps are useless, but lanes still have the largest code of each block.
  using Plan = std::uint32_t (*)(const BlockCodes& codes, std::uint32_t blocks, BlockStep* steps);
  Plan plan;

  // Brings one contribution into the lanes, block by block. `steps` has one entry per block.
  // Indexed by lane width, then mantissa width: 8, 16, 32 bits, and 64 for another aggregator's
  // lanes. Null unless mantissas are narrower than lanes, or both have 64 bits.
  using Accumulate = void (*)(std::byte* lanes, const std::byte* mantissas, std::uint32_t count,
                              std::uint32_t block_elements, const BlockStep* steps);
  Accumulate accumulate[kLaneWidths][4];

  // Re-encodes lanes by each block's own maximum. `lane_codes[b]` is the exponent code whose unit
  // the block's lanes count in, 0 for an empty block; `codes[b]` gets the code of the result.
  // Writes all mantissas. Returns whether some element overflowed the largest code and became an
  // infinity code. Indexed and null as above.
  using Encode = bool (*)(const std::byte* lanes, std::uint32_t count, ElementLayout layout,
                          const std::uint16_t* lane_codes, std::uint16_t* codes,
                          std::byte* mantissas);
  Encode encode[kLaneWidths][3];

  // Exact sums of floats, by type.
  const ExactArithmetic* exact[kExactTypes];

  // Makes lanes twice as wide, in place. Indexed by their width before.
  using Widen = void (*)(std::byte* lanes, std::uint32_t count);
  Widen widen[kLaneWidths - 1];
};

// The defining loops.
const Arithmetic& scalar_arithmetic();

// Index into sum, min, max, bit_or for an integer format. Requires: not a block float.
constexpr std::uint32_t integer_index(WireFormat format) {
  return static_cast<std::uint32_t>(format);
}
// Second index into accumulate and encode. Requires: a block float.
constexpr std::uint32_t mantissa_index(WireFormat format) {
  return static_cast<std::uint32_t>(format) - INFOLD_FORMAT_BFP8;
}

}  // namespace infold::core
