// SPDX-License-Identifier: Apache-2.0
//
// The table of an aggregator's inner loops over elements, and the scalar loops that define, bit for
// bit, what every other version must produce (spec section 4). The scalar loops are part of core so
// that an aggregator runs anywhere; src/numeric has the fast table. As in every plane, sums of
// blocks use only integer operations. The loops are stateless, so any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/exact/exact_arithmetic.h"
#include "core/format.h"

namespace infold::core {

// Lanes are as narrow as exactness allows. Their width cannot be seen from outside an aggregator.
enum class LaneWidth : std::uint8_t { bits16, bits32, bits64 };
inline constexpr std::size_t kLaneWidths = 3;
constexpr std::uint32_t lane_bytes(LaneWidth width) { return 2U << static_cast<unsigned>(width); }
constexpr std::size_t lane_index(LaneWidth width) { return static_cast<std::size_t>(width); }

// What to do with one block of a contribution. It is one word, so that many steps can be planned at
// once.
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
  std::uint16_t word_ = 0;  // the only member, because loops load steps as words
};
static_assert(sizeof(BlockStep) == sizeof(std::uint16_t));

// Exponent codes of blocks, 0 for a block of zeros. A contribution has a lowest and a highest code,
// which differ only in partial sums. The lanes have the code of their unit and the largest code
// seen.
struct BlockCodes {
  const std::uint16_t* low;
  const std::uint16_t* high;
  std::uint16_t* lane_low;
  std::uint16_t* lane_high;
};

// Arrays of codes and steps have room for a multiple of this, so that loops over them need no tail.
// A contribution's codes are 0 in the extra room.
inline constexpr std::uint32_t kBlocksTogether = 32;

struct Arithmetic {
  using Combine = void (*)(std::byte* into, const std::byte* elements, std::uint32_t count);
  // into[i] = into[i] op elements[i] on integers of 8, 16, 32 and 64 bits; sums wrap modulo
  // 2^width.
  Combine sum[4];
  Combine min[4];
  Combine max[4];
  Combine bit_or[4];

  // Decides how each block of a contribution is added to the lanes, and updates the lanes'
  // codes. Returns the largest distance between the codes of a block. If a shift cannot
  // bridge that distance, the steps are useless, but the lanes still have the largest code of each
  // block.
  using Plan = std::uint32_t (*)(const BlockCodes& codes, std::uint32_t blocks, BlockStep* steps);
  Plan plan;

  // Adds one contribution to the lanes, block by block. `steps` has one entry per block. The table
  // is indexed by lane width, then by mantissa width: 8, 16 and 32 bits, and 64 for another
  // aggregator's lanes. An entry is null unless mantissas are narrower than lanes, or both have 64
  // bits.
  using Accumulate = void (*)(std::byte* lanes, const std::byte* mantissas, std::uint32_t count,
                              std::uint32_t block_elements, const BlockStep* steps);
  Accumulate accumulate[kLaneWidths][4];

  // Encodes lanes again, each block by its own maximum. `lane_codes[b]` is the exponent code whose
  // unit the block's lanes count in, 0 for an empty block; `codes[b]` gets the code of the result.
  // Writes all mantissas. Returns whether some element overflowed the last code and became an
  // infinity code. The table is indexed as above, and null in the same cases.
  using Encode = bool (*)(const std::byte* lanes, std::uint32_t count, ElementLayout layout,
                          const std::uint16_t* lane_codes, std::uint16_t* codes,
                          std::byte* mantissas);
  Encode encode[kLaneWidths][3];

  // The loops of exact sums of floats, by type.
  const ExactArithmetic* exact[kExactTypes];

  // Makes lanes twice as wide, in place. The table is indexed by the old width.
  using Widen = void (*)(std::byte* lanes, std::uint32_t count);
  Widen widen[kLaneWidths - 1];
};

// Returns the scalar loops, which define all results.
const Arithmetic& scalar_arithmetic();

// Returns the index into sum, min, max and bit_or for an integer format. Requires: not a block
// float.
constexpr std::uint32_t integer_index(WireFormat format) {
  return static_cast<std::uint32_t>(format);
}
// Returns the second index into accumulate and encode. Requires: a block float.
constexpr std::uint32_t mantissa_index(WireFormat format) {
  return static_cast<std::uint32_t>(format) - INFOLD_FORMAT_BFP8;
}

}  // namespace infold::core
