// SPDX-License-Identifier: Apache-2.0
#include "study/oracle/exact_total.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "study/oracle/oracle_float.h"

namespace infold::oracle {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr int kUnitExponent = -1127;

struct Bits {
  std::uint64_t sign;
  std::uint64_t infinity;
  std::uint64_t nan;
};

Bits bits_of(core::DataType dtype) {
  const FloatTraits traits = float_traits(dtype);
  const auto exponents = static_cast<std::uint64_t>(2 * traits.exponent_max + 1);
  const std::uint64_t infinity = exponents << traits.fraction_bits;
  return {std::uint64_t{1} << (8 * element_bytes(dtype) - 1), infinity,
          infinity | std::uint64_t{1} << (traits.fraction_bits - 1)};
}

// Returns the number with these bits, without its sign. The bits of infinity give the next power of
// two.
double value_at(core::DataType dtype, std::uint64_t magnitude) {
  const FloatTraits traits = float_traits(dtype);
  const auto field = static_cast<int>(magnitude >> traits.fraction_bits);
  const auto fraction =
      static_cast<double>(magnitude & ((std::uint64_t{1} << traits.fraction_bits) - 1));
  const double leading = field == 0 ? 0 : std::ldexp(1, traits.fraction_bits);
  return std::ldexp(leading + fraction,
                    std::max(field, 1) - traits.exponent_max - traits.fraction_bits);
}

// Returns the number at these bits, times the factor. For f64, the number at infinity's bits is too
// large for a double, so its two halves are added.
ExactTotal scaled(core::DataType dtype, std::uint64_t magnitude, std::uint32_t factor) {
  ExactTotal total;
  const bool is_too_large = dtype == core::DataType::f64 && magnitude == bits_of(dtype).infinity;
  if (is_too_large) {
    total.add(std::ldexp(1, 1023));
    total.add(std::ldexp(1, 1023));
  } else {
    total.add(value_at(dtype, magnitude));
  }
  total.multiply(factor);
  return total;
}

ExactTotal sum_of(ExactTotal a, core::DataType dtype, std::uint64_t magnitude,
                  std::uint32_t factor) {
  // `a` is the multiple of the lower neighbour. The higher neighbour is added as often.
  const bool is_too_large = dtype == core::DataType::f64 && magnitude == bits_of(dtype).infinity;
  for (std::uint32_t i = 0; i < factor; ++i) {
    if (is_too_large) {
      a.add(std::ldexp(1, 1023));
      a.add(std::ldexp(1, 1023));
    } else {
      a.add(value_at(dtype, magnitude));
    }
  }
  return a;
}

}  // namespace

void ExactTotal::add(double value) {
  if (value == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  const auto place = static_cast<std::size_t>(exponent - 53 - kUnitExponent);
  // Holds the addend as an integer of the same length.
  std::array<std::uint64_t, kWords> addend{};
  const Wide moved = Wide{mantissa} << (place % 64);
  addend[place / 64] = static_cast<std::uint64_t>(moved);
  addend[place / 64 + 1] = static_cast<std::uint64_t>(moved >> 64);
  if (value < 0) {
    std::uint64_t one = 1;
    for (std::uint64_t& word : addend) {
      word = ~word + one;
      one = one != 0 && word == 0 ? 1 : 0;
    }
  }
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    const Wide sum = Wide{words_[i]} + addend[i] + carry;
    words_[i] = static_cast<std::uint64_t>(sum);
    carry = static_cast<std::uint64_t>(sum >> 64);
  }
}

void ExactTotal::multiply(std::uint32_t factor) {
  // Computes modulo 2^2304, which is also right for negative numbers in two's complement.
  std::uint64_t carry = 0;
  for (std::uint64_t& word : words_) {
    const Wide product = Wide{word} * factor + carry;
    word = static_cast<std::uint64_t>(product);
    carry = static_cast<std::uint64_t>(product >> 64);
  }
}

int ExactTotal::sign() const {
  if (words_.back() >> 63 != 0) return -1;
  for (const std::uint64_t word : words_) {
    if (word != 0) return 1;
  }
  return 0;
}

int ExactTotal::compare(const ExactTotal& other) const {
  const auto top = static_cast<std::int64_t>(words_.back());
  const auto other_top = static_cast<std::int64_t>(other.words_.back());
  if (top != other_top) return top < other_top ? -1 : 1;
  for (std::size_t i = kWords - 1; i-- > 0;) {
    if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
  }
  return 0;
}

std::uint64_t nearest_sum(core::DataType dtype, const std::vector<double>& values,
                          std::uint32_t divisor) {
  const Bits bits = bits_of(dtype);
  double special = 0;
  ExactTotal total;
  ExactTotal negated;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      special += value;
      continue;
    }
    total.add(value);
    negated.add(-value);
  }
  if (std::isnan(special)) return bits.nan;
  if (special != 0) return bits.infinity | (special < 0 ? bits.sign : 0);
  const int sign = total.sign();
  if (sign == 0) return 0;
  const ExactTotal& magnitude = sign < 0 ? negated : total;

  // Finds the largest number that is not above the quotient.
  std::uint64_t low = 0;
  std::uint64_t high = bits.infinity;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (scaled(dtype, middle, divisor).compare(magnitude) <= 0 ? low : high) = middle;
  }
  // Compares twice the quotient with the sum of that number and the next one.
  ExactTotal twice = magnitude;
  twice.multiply(2);
  const ExactTotal both = sum_of(scaled(dtype, low, divisor), dtype, low + 1, divisor);
  const int side = twice.compare(both);
  const bool goes_up = side > 0 || (side == 0 && (low & 1) != 0);
  return (sign < 0 ? bits.sign : 0) | (low + (goes_up ? 1 : 0));
}

}  // namespace infold::oracle
