// SPDX-License-Identifier: Apache-2.0
//
// What a second driver adds: the rate of one rank whose network costs nothing, by its number of
// drivers. The rank is alone in its job, so each contribution is also its result (echo_endpoint.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/format.h"

namespace infold::measure {

struct DriverRatesOptions {
  core::ElementLayout layout;
  std::uint64_t bytes = 25 << 20;  // the tensor's size
  std::uint32_t mtu = 1500;
  unsigned drivers_max = 2;
  unsigned rounds = 7;       // each number of drivers has one turn in each round
  unsigned iterations = 20;  // sums per turn
};

struct DriverRate {
  unsigned drivers = 1;
  double gbps = 0;    // bits of tensor, sent and received once; the median of the rounds
  double of_one = 1;  // the rate relative to one driver; the median of the rounds' ratios
  double cpu_s_per_gb = 0;
};

// Measures 1 to drivers_max drivers. Each gets its own core, as long as there are enough cores.
std::vector<DriverRate> measure_drivers(const DriverRatesOptions& options);

}  // namespace infold::measure
