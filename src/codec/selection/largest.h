// SPDX-License-Identifier: Apache-2.0
//
// The largest magnitudes of a tensor, by integers that order as magnitudes do. A NaN is above all
// numbers, and all NaNs are equal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::codec {

inline constexpr std::uint32_t kInfinityKey = 0x7F800000;
inline constexpr std::uint32_t kNanKey = kInfinityKey + 1;

// 0 for both zeros.
constexpr std::uint32_t key_of(float value) {
  return std::min(std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU, kNanKey);
}
constexpr float magnitude_of(std::uint32_t key) { return std::bit_cast<float>(key); }

// The largest float that is not above the value. So of floats |x| > value means that |x| is above
// this one. Requires: value is not negative, and below infinity.
float float_below(double value);

// Elements that count. Others have the key of zero.
enum class Side : std::uint8_t { both, above, below };

// Where the kept elements end: all of a larger key are kept, and the first ones of this key.
struct Cut {
  std::uint32_t key = kNanKey;
  std::size_t ties = 0;
};

// Exactly `kept` elements of the largest magnitudes, and of equal ones those of lower index.
// Requires: kept <= elements.
Cut find_cut(std::span<const float> tensor, std::size_t kept, Side side = Side::both);
// The same, but it leaves out zeros. So there may be fewer.
Cut find_cut_above_zero(std::span<const float> tensor, std::size_t kept, Side side = Side::both);

// Appends the indices, ascending.
void append_kept(std::span<const float> tensor, const Cut& cut, Side side,
                 std::vector<std::uint32_t>& indices);
// Elements whose key is this or larger.
std::size_t count_from(std::span<const float> tensor, std::uint32_t key, Side side = Side::both);
std::uint32_t largest_key(std::span<const float> tensor);

}  // namespace infold::codec
