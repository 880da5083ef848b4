// SPDX-License-Identifier: Apache-2.0
//
// Finds the largest magnitudes of a tensor, by means of integers that have the same order as
// magnitudes (numeric/codes/magnitude_key.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numeric/codes/magnitude_key.h"

namespace infold::compress {

using numeric::key_of;
using numeric::kInfinityKey;
using numeric::kNanKey;
using numeric::magnitude_of;
using numeric::Side;

// Returns the largest float that is not above the value. A float's magnitude is above the value if
// and only if it is above the result. Requires: the value is not negative and is below infinity.
float float_below(double value);

// Where the kept elements end. All elements with a larger key are kept, and the first `ties`
// elements with this key.
struct Cut {
  std::uint32_t key = kNanKey;
  std::size_t ties = 0;
};

// Finds the cut that keeps exactly `kept` elements of the largest magnitudes. Among equal
// magnitudes, those with lower indices are kept. Requires: kept <= tensor.size().
Cut find_cut(std::span<const float> tensor, std::size_t kept, Side side = Side::both);
// Does the same but leaves out zeros, so it may keep fewer elements.
Cut find_cut_above_zero(std::span<const float> tensor, std::size_t kept, Side side = Side::both);

// Appends the indices of the kept elements, in ascending order.
void append_kept(std::span<const float> tensor, const Cut& cut, Side side,
                 std::vector<std::uint32_t>& indices);
// Counts the elements whose key is this or larger.
std::size_t count_from(std::span<const float> tensor, std::uint32_t key, Side side = Side::both);

}  // namespace infold::compress
