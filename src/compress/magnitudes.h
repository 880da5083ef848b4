// SPDX-License-Identifier: Apache-2.0
//
// Finds magnitudes of a tensor's elements with the fastest loops for this processor.
#pragma once

#include <span>

#include "numeric/codec.h"

namespace infold::compress {

// Returns infinity if any element is not finite.
inline float largest_magnitude(std::span<const float> values) {
  return numeric::code_loops().find_largest(values.data(), values.size());
}

// Sums up the elements whose magnitude is above `shift`.
inline numeric::MagnitudeSums sum_magnitudes(std::span<const float> values, float shift = 0) {
  return numeric::code_loops().sum_magnitudes(values.data(), values.size(), shift);
}

}  // namespace infold::compress
