// SPDX-License-Identifier: Apache-2.0
//
// The digits of floats, which ranks send to get an exact sum from an aggregator that only adds
// integers. A number is an integer in units of the last place of its type's smallest
// number. A digit is a few adjacent bits of that integer, with the number's sign. The sum of all
// ranks' digits therefore fits 32 bits, and the sums of a number's digits make up the exact sum.
//
// Adjacent elements form a group, whose digits all begin at the same bit and end at the same bit.
// All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace infold::numeric {

inline constexpr std::uint32_t kDigitGroupElements = 256;
// More ranks could overflow the counts of infinities, and the bins of an exact sum.
inline constexpr std::uint32_t kDigitWorldMax = 511;

// The range of bits that some numbers have.
struct DigitRange {
  std::uint32_t low = 0;  // the lowest bit that is set
  std::uint32_t top = 0;  // one above the highest bit that is set; 0: all numbers are zeros
  bool special = false;   // a NaN or an infinity is among them

  friend bool operator==(const DigitRange&, const DigitRange&) = default;
};
DigitRange joined(const DigitRange& a, const DigitRange& b);

// Returns the range of all bits that a number of the type can have. Requires: a float type.
DigitRange digit_range_of(core::DataType dtype);

// The digits of a group: slices() digits of `bits` bits for each element, with the lowest digits of
// all elements first. If some rank has a NaN or an infinity, one more slice has the counts of
// these.
struct DigitGroup {
  DigitRange range;  // over all ranks
  std::uint32_t bits = 0;

  constexpr std::uint32_t slices() const { return (range.top - range.low + bits - 1) / bits; }
  // Returns how many integers each element has.
  constexpr std::uint32_t integers() const { return slices() + (range.special ? 1 : 0); }
};

// Returns the bits of a digit, so that the world times the largest digit is less than 2^31.
// Requires: 1 <= world <= kDigitWorldMax.
constexpr std::uint32_t digit_bits(std::uint32_t world) { return 31 - core::ceil_log2(world); }

// The loops over elements, one table for each float type.
struct DigitLoops {
  // Returns the range of `count` elements.
  DigitRange (*find_range)(const std::byte* x, std::uint32_t count) = nullptr;
  // Writes a 32-bit integer for each element: its bits from `low` to low + bits - 1, with its sign,
  // and 0 for NaN and infinities. Requires: 0 < bits < 32.
  void (*write)(const std::byte* x, std::uint32_t count, std::uint32_t low, std::uint32_t bits,
                std::byte* digits) = nullptr;
};

// Writes one slice of a group for `count` elements of the group.
void write_slice(core::DataType dtype, const std::byte* x, std::uint32_t count,
                 const DigitGroup& group, std::uint32_t slice, std::byte* integers);

// Turns the sums of a whole group's integers into the sums of its elements, divided by `divisor`
// and rounded once. `count` is the number of elements. Any sums are allowed.
void round_digits(core::DataType dtype, const DigitGroup& group, const std::byte* sums,
                  std::uint32_t count, std::uint32_t divisor, std::byte* out);

}  // namespace infold::numeric
