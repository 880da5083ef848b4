// SPDX-License-Identifier: Apache-2.0
//
// The commands that sum tensors in a lab: infold with its sums in each place, and the rivals'
// programs. Pure, except that Gloo's ranks meet in a folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "study/measure/compare/lab.h"
#include "study/measure/compare/zeros.h"

namespace infold::measure {

struct SumJob {
  std::uint64_t world = 0;
  std::uint64_t bytes = 0;
  std::string dtype = "f32";  // for infold; rivals sum f32
  std::string wire = "native";
  std::uint32_t mtu = 0;             // for infold's packets; 0: the route's MTU
  bool shared_memory = true;         // for infold: ranks of one host may use it
  std::string layout = "dense";      // for infold
  std::size_t block = kRowElements;  // for rivals that leave out zeros
  ZerosOptions zeros;
  unsigned iterations = 1;
  std::chrono::seconds deadline{60};
};

// The places where infold makes sums.
struct SumPlaces {
  bool on_switch = false;  // a switch in the path
  std::size_t switch_threads = 1;
  std::vector<std::uint64_t> hosts;  // dedicated aggregators, each on its own host
  bool on_workers = false;
  unsigned switch_weight = 1;  // used if switches and workers both sum
  unsigned worker_weight = 1;
};

// Returns the time limit for a job whose sums are predicted to take `sum_s` each.
std::chrono::seconds hopeless_after(double sum_s, unsigned iterations);

// Starts a daemon in each place, and `infold bench allreduce --check` on the host of each rank.
Launch launch_infold(const Lab& lab, const SumJob& job, const SumPlaces& places);

// Requires: the rival's program exists, and `folder` is empty.
Launch launch_gloo(const Lab& lab, const SumJob& job, const std::string& algorithm,
                   const std::filesystem::path& folder);
Launch launch_openmpi(const Lab& lab, const SumJob& job, const std::string& algorithm);

}  // namespace infold::measure
