// SPDX-License-Identifier: Apache-2.0
//
// The largest magnitudes of a tensor, by integers that order as magnitudes do
// (numeric/codes/magnitude_key.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numeric/codes/magnitude_key.h"

namespace infold::codec {

using numeric::key_of;
using numeric::kInfinityKey;
using numeric::kNanKey;
using numeric::magnitude_of;
using numeric::Side;

// The largest float that is not above the value. So of floats |x| > value means that |x| is above
// this one. Requires: value is not negative, and below infinity.
float float_below(double value);

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

}  // namespace infold::codec
