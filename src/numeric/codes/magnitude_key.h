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

// 0 for both zeros.
constexpr std::uint32_t key_of(float value) {
  return std::min(std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU, kNanKey);
}
constexpr float magnitude_of(std::uint32_t key) { return std::bit_cast<float>(key); }

// Elements that count. Others have the key of zero.
enum class Side : std::uint8_t { both, above, below };

// Keys of one side.
class SideKeys {
 public:
  constexpr explicit SideKeys(Side side)
      : of_rest_(side == Side::below ? 0 : ~0U), of_negative_(side == Side::above ? 0 : ~0U) {}

  constexpr std::uint32_t operator()(float value) const {
    const bool is_negative = (std::bit_cast<std::uint32_t>(value) >> 31) != 0;
    return key_of(value) & (is_negative ? of_negative_ : of_rest_);
  }
  // What is left of a key without a sign, and of one with it.
  constexpr std::uint32_t of_rest() const { return of_rest_; }
  constexpr std::uint32_t of_negative() const { return of_negative_; }

 private:
  std::uint32_t of_rest_;
  std::uint32_t of_negative_;
};

}  // namespace infold::numeric
