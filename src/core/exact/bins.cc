// SPDX-License-Identifier: Apache-2.0
#include "core/exact/bins.h"

#include <algorithm>
#include <bit>

namespace infold::core {
namespace {

constexpr int kDigitBits = 32;
// Two digits below the unit hold a quotient's fraction, of which at least 30 bits are needed.
constexpr std::uint32_t kFractionDigits = 2;

__extension__ using Wide = unsigned __int128;

// The magnitude of a column of at most kRows rows, in digits of 32 bits, the lowest first.
template <std::uint32_t kRows>
struct Magnitude {
  std::array<std::uint32_t, kFractionDigits + kRows> digits;
  std::uint32_t top = 0;  // one above the highest nonzero digit
  bool negative = false;

  void find_top(std::uint32_t count) {
    top = count;
    while (top > 0 && digits[top - 1] == 0) --top;
  }
};

template <std::uint32_t kRows>
Magnitude<kRows> magnitude_of(std::uint32_t rows, BinColumn<const std::int64_t> column) {
  Magnitude<kRows> magnitude;
  const std::uint32_t count = kFractionDigits + rows;
  for (std::uint32_t i = 0; i < kFractionDigits; ++i) magnitude.digits[i] = 0;
  std::int64_t carry = 0;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int64_t word = column.words[row * column.stride] + carry;
    magnitude.digits[kFractionDigits + row] = static_cast<std::uint32_t>(word);
    carry = word >> kDigitBits;
  }
  magnitude.negative = carry < 0;
  if (magnitude.negative) {
    std::uint64_t borrow = 1;  // two's complement
    for (std::uint32_t i = kFractionDigits; i < count; ++i) {
      const std::uint64_t digit = std::uint64_t{~magnitude.digits[i]} + borrow;
      magnitude.digits[i] = static_cast<std::uint32_t>(digit);
      borrow = digit >> kDigitBits;
    }
  }
  magnitude.find_top(count);
  return magnitude;
}

// Divides in place. Returns whether there is a remainder.
template <std::uint32_t kRows>
bool divide(Magnitude<kRows>& magnitude, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::uint32_t i = magnitude.top; i-- > 0;) {
    const std::uint64_t part = rest << kDigitBits | magnitude.digits[i];
    magnitude.digits[i] = static_cast<std::uint32_t>(part / divisor);
    rest = part % divisor;
  }
  magnitude.find_top(magnitude.top);
  return rest != 0;
}

template <std::uint32_t kRows>
ExactFloat quotient_of(BinLayout layout, BinColumn<const std::int64_t> column,
                       std::uint32_t divisor) {
  Magnitude<kRows> magnitude = magnitude_of<kRows>(layout.rows, column);
  bool is_inexact = divisor > 1 && divide(magnitude, divisor);
  const std::uint32_t top = magnitude.top;
  // A nonzero number divided by at most 2^16 still has a nonzero digit, so the number is 0.
  if (top == 0) return {};
  // The top three digits hold at least 65 significant bits.
  Wide leading = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    leading = leading << kDigitBits | (top > i ? magnitude.digits[top - 1 - i] : 0);
  }
  for (std::uint32_t i = 0; i + 3 < top; ++i) is_inexact |= magnitude.digits[i] != 0;
  const auto high = static_cast<std::uint64_t>(leading >> 64);
  const int dropped = static_cast<int>(std::bit_width(high)) + 2;  // so that 62 bits are left
  is_inexact |= (leading & ((Wide{1} << dropped) - 1)) != 0;
  const int exponent = layout.unit_exponent + dropped +
                       kDigitBits * (static_cast<int>(top) - 3 - static_cast<int>(kFractionDigits));
  return {magnitude.negative,
          static_cast<std::uint64_t>(leading >> dropped) | (is_inexact ? 1U : 0U), exponent};
}

// Adds the digits of a number of at most 96 bits. Requires: row < rows.
void add_digits(Wide number, bool negative, std::uint32_t row, std::uint32_t rows,
                BinColumn<std::int64_t> column) {
  const std::int64_t sign = negative ? -1 : 0;
  const std::uint32_t count = std::min(3U, rows - row);
  for (std::uint32_t i = 0; i < count; ++i, number >>= kDigitBits) {
    const auto digit = static_cast<std::int64_t>(static_cast<std::uint32_t>(number));
    column.words[(row + i) * column.stride] += (digit ^ sign) - sign;
  }
}

// An f32 is an integer of 24 bits, shifted by a place of at most 253, so it lies in at most two
// rows.
void add_f32(std::uint32_t bits, BinColumn<std::int64_t> column) {
  const std::uint32_t field = bits >> 23 & 0xFF;
  const std::uint64_t significand = (bits & 0x7F'FFFF) | (field != 0 ? 0x80'0000U : 0U);
  const std::uint32_t place = field - (field != 0 ? 1 : 0);
  const std::uint64_t number = significand << (place % kDigitBits);
  const std::int64_t sign = -static_cast<std::int64_t>(bits >> 31);
  std::int64_t* const low = column.words + place / kDigitBits * column.stride;
  *low += (static_cast<std::int64_t>(number & 0xFFFF'FFFF) ^ sign) - sign;
  low[column.stride] += (static_cast<std::int64_t>(number >> kDigitBits) ^ sign) - sign;
}

}  // namespace

void add_to_bins(const ExactFloat& value, BinLayout layout, BinColumn<std::int64_t> column) {
  // A long significand of a number with few digits ends in zeros, which may lie below the unit.
  const int below = std::clamp(layout.unit_exponent - value.exponent, 0, 63);
  const int position = std::max(value.exponent - layout.unit_exponent, 0);
  const std::uint32_t row = static_cast<std::uint32_t>(position) / kDigitBits;
  if (row >= layout.rows) return;
  add_digits(Wide{value.significand >> below} << (position % kDigitBits), value.negative, row,
             layout.rows, column);
}

void add_floats_to_bins(const std::byte* x, std::uint32_t count, std::int64_t* words,
                        double* specials) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bits = load<std::uint32_t>(x, i);
    if (is_special<F32>(bits)) {
      specials[i] += static_cast<double>(std::bit_cast<float>(bits));
    } else {
      add_f32(bits, {words + i, count});
    }
  }
}

ExactFloat quotient_of_bins(BinLayout layout, BinColumn<const std::int64_t> column,
                            std::uint32_t divisor) {
  constexpr std::uint32_t kFew = bin_layout(DataType::f32).rows;
  return layout.rows <= kFew ? quotient_of<kFew>(layout, column, divisor)
                             : quotient_of<kBinRowsMax>(layout, column, divisor);
}

}  // namespace infold::core
