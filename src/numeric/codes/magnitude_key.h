// SPDX-License-Identifier: Apache-2.0
//
// Integers that order floats by magnitude. A NaN is above all numbers, and all NaNs are equal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace infold::numeric {

inline constexpr std::uint32_t kInfinityKey = 0x7F800000;
inline constexpr std::uint32_t kNanKey = kInfinityKey + 1;

// Returns the key of a float; it is 0 for both zeros.
constexpr std::uint32_t key_of(float value) {
  return std::min(std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU, kNanKey);
}
constexpr float magnitude_of(std::uint32_t key) { return std::bit_cast<float>(key); }

// The elements that count: both signs, only above zero, or only below. All others have the key of
// zero.
enum class Side : std::uint8_t { both, above, below };

// Returns keys, in which only one side counts.
class SideKeys {
 public:
  constexpr explicit SideKeys(Side side)
      : of_rest_(side == Side::below ? 0 : ~0U), of_negative_(side == Side::above ? 0 : ~0U) {}

  constexpr std::uint32_t operator()(float value) const {
    const bool is_negative = (std::bit_cast<std::uint32_t>(value) >> 31) != 0;
    return key_of(value) & (is_negative ? of_negative_ : of_rest_);
  }
  // Masks for the keys of elements without a sign, and with a sign.
  constexpr std::uint32_t of_rest() const { return of_rest_; }
  constexpr std::uint32_t of_negative() const { return of_negative_; }

 private:
  std::uint32_t of_rest_;
  std::uint32_t of_negative_;
};

}  // namespace infold::numeric
