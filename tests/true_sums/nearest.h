// SPDX-License-Identifier: Apache-2.0
//
// Says whether a result is the exact sum or mean of some floats, rounded once. It compares
// the sum with the middles between the result and its neighbours, in whole numbers, so it rounds
// nothing itself. It shares no code with the sums that it judges, nor with the oracle, and is fast
// enough for 10^9 elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace infold::true_sums {

// A float of a binary format, taken apart. Its value is mantissa x 2^shift units, and the unit is
// the format's smallest number.
struct Parts {
  bool negative = false;
  bool is_nan = false;
  bool is_infinite = false;  // then mantissa and shift are of the next power of two
  std::uint64_t mantissa = 0;
  std::uint32_t shift = 0;
};

template <unsigned kFractionBits, unsigned kExponentBits, unsigned kWordCount>
struct Format {
  static constexpr unsigned kFraction = kFractionBits;
  static constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << kFractionBits) - 1;
  static constexpr std::uint64_t kFieldMax = (std::uint64_t{1} << kExponentBits) - 1;
  static constexpr std::uint64_t kSign = std::uint64_t{1} << (kFractionBits + kExponentBits);
  static constexpr std::uint64_t kInfinity = kFieldMax << kFractionBits;
  static constexpr std::uint64_t kNan = kInfinity | std::uint64_t{1} << (kFractionBits - 1);
  static constexpr unsigned kWords = kWordCount;  // 64-bit words, for twice a sum of 2048 numbers

  static constexpr Parts parts(std::uint64_t bits) {
    const std::uint64_t field = (bits & ~kSign) >> kFractionBits;
    const std::uint64_t fraction = bits & kFractionMask;
    Parts parts;
    parts.negative = (bits & kSign) != 0;
    parts.is_nan = field == kFieldMax && fraction != 0;
    parts.is_infinite = field == kFieldMax && fraction == 0;
    parts.mantissa = field == 0 ? fraction : fraction | std::uint64_t{1} << kFractionBits;
    parts.shift = static_cast<std::uint32_t>(field == 0 ? 0 : field - 1);
    return parts;
  }
};

using F32 = Format<23, 8, 5>;
using F16 = Format<10, 5, 2>;
using Bf16 = Format<7, 8, 5>;
using F64 = Format<52, 11, 34>;

// An integer in two's complement.
template <unsigned kWords>
class Whole {
 public:
  // Adds mantissa x factor x 2^shift, or subtracts it. Requires: mantissa x factor < 2^64.
  void add(bool negative, std::uint64_t mantissa, std::uint64_t factor, std::uint32_t shift) {
    __extension__ using Wide = unsigned __int128;
    const Wide moved = Wide{mantissa * factor} << (shift % 64);
    std::size_t place = shift / 64;
    const std::uint64_t parts[] = {static_cast<std::uint64_t>(moved),
                                   static_cast<std::uint64_t>(moved >> 64)};
    bool carry = false;
    for (std::size_t i = 0; place < kWords && (i < 2 || carry); ++i, ++place) {
      const std::uint64_t part = i < 2 ? parts[i] : 0;
      std::uint64_t& word = words_[place];
      std::uint64_t next = 0;
      const bool first = negative ? __builtin_sub_overflow(word, part, &next)
                                  : __builtin_add_overflow(word, part, &next);
      const bool second = negative ? __builtin_sub_overflow(next, std::uint64_t{carry}, &word)
                                   : __builtin_add_overflow(next, std::uint64_t{carry}, &word);
      carry = first || second;
    }
  }

  // Returns -1, 0 or 1.
  int sign() const {
    if (words_.back() >> 63 != 0) return -1;
    for (const std::uint64_t word : words_) {
      if (word != 0) return 1;
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, kWords> words_{};
};

// Whether `result` is the sum of `values`, divided by `divisor`, in bits of the format.
template <typename F>
bool is_nearest(std::span<const std::uint64_t> values, std::uint32_t divisor,
                std::uint64_t result) {
  Whole<F::kWords> twice;  // twice the sum
  bool has_nan = false, has_plus = false, has_minus = false;
  for (const std::uint64_t value : values) {
    const Parts parts = F::parts(value);
    has_nan = has_nan || parts.is_nan;
    if (parts.is_infinite) (parts.negative ? has_minus : has_plus) = true;
    if (!parts.is_nan && !parts.is_infinite) {
      twice.add(parts.negative, parts.mantissa, 2, parts.shift);
    }
  }
  if (has_nan || (has_plus && has_minus)) return result == F::kNan;
  if (has_plus || has_minus) return result == (F::kInfinity | (has_minus ? F::kSign : 0));
  const int sign = twice.sign();
  if (sign == 0) return result == 0;
  const std::uint64_t magnitude = result & ~F::kSign;
  if (((result & F::kSign) != 0) != (sign < 0) || magnitude > F::kInfinity) return false;

  // The sum must be less than the middle above and more than the middle below, or on one of them if
  // the result is even.
  const auto side_of = [&](std::uint64_t neighbour) {
    Whole<F::kWords> rest = twice;
    for (const std::uint64_t each : {magnitude, neighbour}) {
      const Parts parts = F::parts(each);
      rest.add(sign > 0, parts.mantissa, divisor, parts.shift);
    }
    return rest.sign() * sign;
  };
  const bool is_even = magnitude % 2 == 0;
  if (magnitude < F::kInfinity) {
    const int above = side_of(magnitude + 1);
    if (above > 0 || (above == 0 && !is_even)) return false;
  }
  if (magnitude > 0) {
    const int below = side_of(magnitude - 1);
    if (below < 0 || (below == 0 && !is_even)) return false;
  }
  return true;
}

}  // namespace infold::true_sums
