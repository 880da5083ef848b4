// SPDX-License-Identifier: Apache-2.0
//
// Normal numbers, for tensors that tests and benchmarks draw.
#pragma once

#include <cmath>
#include <numbers>

#include "base/prng.h"

namespace infold::codec {

// Box and Muller's.
inline double draw_normal(base::Prng& prng) {
  const double radius = std::sqrt(-2 * std::log(1 - prng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * prng.uniform());
}

}  // namespace infold::codec
