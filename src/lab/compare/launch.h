// SPDX-License-Identifier: Apache-2.0
//
// The commands that sum tensors in a lab: infold with its sums in each place, and the peers'
// programs. Pure, except that Gloo's ranks meet in a folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/compare/lab.h"
#include "lab/compare/zeros.h"

namespace infold::lab {

struct SumJob {
  std::uint64_t world = 0;
  std::uint64_t bytes = 0;
  std::string dtype = "f32";  // of infold; peers sum f32
  std::string wire = "native";
  std::uint32_t mtu = 0;             // of infold's packets; 0: that of the route
  bool shared_memory = true;         // of infold: where ranks of one host may use it
  std::string layout = "dense";      // of infold
  std::size_t block = kRowElements;  // of peers that leave out zeros
  ZerosOptions zeros;
  unsigned iterations = 1;
  std::chrono::seconds deadline{60};
};

// The places where infold makes sums.
struct SumPlaces {
  bool on_switch = false;  // a switch in the path
  std::size_t switch_threads = 1;
  std::vector<std::uint64_t> hosts;  // dedicated aggregators on hosts of their own
  bool on_workers = false;
  unsigned switch_weight = 1;  // used where switches and workers both sum
  unsigned worker_weight = 1;
};

// Returns the limit for a job with this predicted time of a sum.
std::chrono::seconds hopeless_after(double sum_s, unsigned iterations);

// A daemon in each place, and `infold bench allreduce --check` on the host of each rank.
Launch launch_infold(const Lab& lab, const SumJob& job, const SumPlaces& places);

// Requires: the peer's program. `folder` is empty.
Launch launch_gloo(const Lab& lab, const SumJob& job, const std::string& algorithm,
                   const std::filesystem::path& folder);
Launch launch_openmpi(const Lab& lab, const SumJob& job, const std::string& algorithm);

}  // namespace infold::lab
