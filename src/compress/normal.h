// SPDX-License-Identifier: Apache-2.0
//
// Draws normal numbers, for the tensors of tests and benchmarks.
#pragma once

#include <cmath>
#include <numbers>

#include "base/prng.h"

namespace infold::compress {

// Uses the Box-Muller transform.
inline double draw_normal(base::Prng& prng) {
  const double radius = std::sqrt(-2 * std::log(1 - prng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * prng.uniform());
}

}  // namespace infold::compress
