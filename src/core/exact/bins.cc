// SPDX-License-Identifier: Apache-2.0
#include "core/exact/bins.h"

#include <algorithm>

namespace infold::core {
namespace {

constexpr int kDigitBits = 32;
// Two digits below the unit: a quotient's fraction, of which 30 bits are needed at least.
constexpr std::uint32_t kFractionDigits = 2;

__extension__ using Wide = unsigned __int128;

// The magnitude of a column in digits of 32 bits, the lowest first.
struct Magnitude {
  std::array<std::uint32_t, kFractionDigits + kBinRowsMax> digits{};
  std::uint32_t count = 0;
  bool negative = false;
};

Magnitude magnitude_of(BinLayout layout, BinColumn<const std::int64_t> column) {
  Magnitude magnitude;
  magnitude.count = kFractionDigits + layout.rows;
  std::int64_t carry = 0;
  for (std::uint32_t row = 0; row < layout.rows; ++row) {
    const std::int64_t word = column.words[row * column.stride] + carry;
    magnitude.digits[kFractionDigits + row] = static_cast<std::uint32_t>(word);
    carry = word >> kDigitBits;
  }
  magnitude.negative = carry < 0;
  if (!magnitude.negative) return magnitude;
  std::uint64_t borrow = 1;  // two's complement
  for (std::uint32_t i = kFractionDigits; i < magnitude.count; ++i) {
    const std::uint64_t digit = std::uint64_t{~magnitude.digits[i]} + borrow;
    magnitude.digits[i] = static_cast<std::uint32_t>(digit);
    borrow = digit >> kDigitBits;
  }
  return magnitude;
}

// In place; whether something is left over.
bool divide(Magnitude& magnitude, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::uint32_t i = magnitude.count; i-- > 0;) {
    const std::uint64_t part = rest << kDigitBits | magnitude.digits[i];
    magnitude.digits[i] = static_cast<std::uint32_t>(part / divisor);
    rest = part % divisor;
  }
  return rest != 0;
}

}  // namespace

void add_to_bins(const ExactFloat& value, BinLayout layout, BinColumn<std::int64_t> column) {
  if (value.significand == 0) return;
  // A short number in a long significand ends in zeros, which may lie below the unit.
  const int below = std::clamp(layout.unit_exponent - value.exponent, 0, 63);
  const int position = std::max(value.exponent - layout.unit_exponent, 0);
  std::uint32_t row = static_cast<std::uint32_t>(position) / kDigitBits;
  Wide rest = Wide{value.significand >> below} << (position % kDigitBits);
  for (; rest != 0 && row < layout.rows; ++row, rest >>= kDigitBits) {
    const auto digit = static_cast<std::int64_t>(static_cast<std::uint32_t>(rest));
    column.words[row * column.stride] += value.negative ? -digit : digit;
  }
}

ExactFloat quotient_of_bins(BinLayout layout, BinColumn<const std::int64_t> column,
                            std::uint32_t divisor) {
  Magnitude magnitude = magnitude_of(layout, column);
  bool is_inexact = divisor > 1 && divide(magnitude, divisor);
  std::uint32_t top = magnitude.count;
  while (top > 0 && magnitude.digits[top - 1] == 0) --top;
  if (top == 0) {
    // A quotient of the smallest numbers by at most 2^16 has a digit that is not zero.
    return {};
  }
  // Three digits hold at least 65 significant bits.
  Wide leading = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    leading = leading << kDigitBits | (top > i ? magnitude.digits[top - 1 - i] : 0);
  }
  for (std::uint32_t i = 0; i + 3 < top; ++i) is_inexact |= magnitude.digits[i] != 0;
  int exponent = layout.unit_exponent +
                 kDigitBits * (static_cast<int>(top) - 3 - static_cast<int>(kFractionDigits));
  while (leading >> 62 != 0) {
    is_inexact |= (leading & 1) != 0;
    leading >>= 1;
    ++exponent;
  }
  return {magnitude.negative, static_cast<std::uint64_t>(leading) | (is_inexact ? 1U : 0U),
          exponent};
}

}  // namespace infold::core
