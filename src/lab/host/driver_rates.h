// SPDX-License-Identifier: Apache-2.0
//
// What a second driver adds: the rate of one rank whose network costs nothing, by its number of
// drivers. The rank is the only one of its job, so each contribution is its result
// (echo_endpoint.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/format.h"

namespace infold::lab {

struct DriverRatesOptions {
  core::ElementLayout layout;
  std::uint64_t bytes = 25 << 20;  // of the tensor
  std::uint32_t mtu = 1500;
  unsigned drivers_max = 2;
  unsigned rounds = 7;       // in which each number of drivers has its turn
  unsigned iterations = 20;  // sums in a turn
};

struct DriverRate {
  unsigned drivers = 1;
  double gbps = 0;    // of tensor, sent and received once, the median of the rounds
  double of_one = 1;  // the rate to that of one driver, the median of the rounds' ratios
  double cpu_s_per_gb = 0;
};

// For 1 to drivers_max drivers. Each has a core of its own, as far as there are cores.
std::vector<DriverRate> measure_drivers(const DriverRatesOptions& options);

}  // namespace infold::lab
