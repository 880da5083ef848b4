// SPDX-License-Identifier: Apache-2.0
//
// The scalar loops of digits.
#include <algorithm>
#include <bit>

#include "numeric/adders/digits.h"
#include "numeric/floats.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {
namespace {

// Returns the number's last place, counted from the last place of the type's smallest number.
template <typename Format>
std::uint32_t place_of(const ExactFloat& value) {
  return static_cast<std::uint32_t>(value.exponent - Format::kExponentMin);
}

template <typename Format>
DigitRange find_range(const std::byte* x, std::uint32_t count) {
  using Bits = typename Format::Bits;
  DigitRange range;
  Bits largest = 0;
  std::uint32_t low = ~0U;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Bits magnitude = magnitude_bits<Format>(load<Bits>(x, i));
    if (magnitude >= Format::kInfinity) {
      range.special = true;
    } else if (magnitude != 0) {
      const ExactFloat value = unpack<Format>(magnitude);
      const auto zeros = static_cast<std::uint32_t>(std::countr_zero(value.significand));
      low = std::min(low, place_of<Format>(value) + zeros);
      largest = std::max(largest, magnitude);
    }
  }
  if (largest == 0) return range;
  const ExactFloat value = unpack<Format>(largest);
  range.low = low;
  range.top =
      place_of<Format>(value) + static_cast<std::uint32_t>(std::bit_width(value.significand));
  return range;
}

template <typename Format>
void write(const std::byte* x, std::uint32_t count, std::uint32_t low, std::uint32_t bits,
           std::byte* digits) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto element = load<typename Format::Bits>(x, i);
    ExactFloat value;
    if (!is_special<Format>(element)) value = unpack<Format>(element);
    const std::int32_t shift =
        static_cast<std::int32_t>(place_of<Format>(value)) - static_cast<std::int32_t>(low);
    // After a shift by 31 to the left, no bit remains within the mask.
    const int left = std::clamp(shift, 0, 31);
    const int right = std::clamp(-shift, 0, 63);
    const auto digit = static_cast<std::int32_t>((value.significand << left >> right) & mask);
    store<std::int32_t>(digits, i, value.negative ? -digit : digit);
  }
}

template <typename Format>
constexpr DigitLoops kLoops = {find_range<Format>, write<Format>};

}  // namespace

const DigitLoops* scalar_digits() {
  static constexpr DigitLoops kByType[] = {kLoops<F32>, kLoops<F16>, kLoops<Bf16>, kLoops<F64>};
  return kByType;
}

}  // namespace infold::numeric
