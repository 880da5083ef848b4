// SPDX-License-Identifier: Apache-2.0
//
// What samples of one figure are told by: their median, and how far the others lie from it.
#pragma once

#include <vector>

namespace infold::lab {

struct Spread {
  double median = 0;
  double mad = 0;  // the median distance from it
};

// Of an even count, the higher of the two in the middle. Requires: one sample at least.
Spread spread_of(std::vector<double> samples);

}  // namespace infold::lab
