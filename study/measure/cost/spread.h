// SPDX-License-Identifier: Apache-2.0
//
// The spread of one figure's samples: their median, and how far the samples lie from it.
#pragma once

#include <vector>

namespace infold::measure {

struct Spread {
  double median = 0;
  double mad = 0;  // the median distance from the median
};

// For an even count, the median is the higher of the two middle values. Requires: at least one
// sample.
Spread spread_of(std::vector<double> samples);

}  // namespace infold::measure
