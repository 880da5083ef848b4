// SPDX-License-Identifier: Apache-2.0
#include "study/measure/cost/spread.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace infold::measure {
namespace {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  CHECK(!samples.empty());
  Spread spread;
  spread.median = median_of(samples);
  for (double& sample : samples) sample = std::fabs(sample - spread.median);
  spread.mad = median_of(samples);
  return spread;
}

}  // namespace infold::measure
