// SPDX-License-Identifier: Apache-2.0
//
// How many drivers a rank has if the program leaves the number open. Pure function.
#pragma once

#include <algorithm>

namespace infold::rank {

struct DriverCountInput {
  int interface_mbps = 0;  // 0: the interface does not say
  int processors = 1;      // processors that this process may use
  int local_world = 1;     // ranks of this host
  int sites = 1;
};

// One driver fills about 10 Gbit/s (docs/benchmarks/host.md). Half of a rank's processors stay with
// the program.
inline constexpr int kMbpsPerDriver = 10'000;
inline constexpr int kDriversMax = 8;

inline int automatic_drivers(const DriverCountInput& input) {
  const int wanted = (input.interface_mbps + kMbpsPerDriver - 1) / kMbpsPerDriver;
  const int processors = input.processors / std::max(input.local_world, 1) / 2;
  return std::clamp(std::min({wanted, processors, input.sites}), 1, kDriversMax);
}

}  // namespace infold::rank
