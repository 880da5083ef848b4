// SPDX-License-Identifier: Apache-2.0
//
// The commands that sum tensors in a lab: ours with its sums in each place, and our peers'
// programs. Pure, but for the folder in which Gloo's ranks meet.
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
  std::string dtype = "f32";  // of ours; peers sum f32
  std::string wire = "bfp32";
  std::string layout = "dense";      // of ours
  std::size_t block = kRowElements;  // of peers that leave out zeros
  ZerosOptions zeros;
  unsigned iterations = 1;
  std::chrono::seconds deadline{60};
};

// Where infold's sums are made.
struct SumPlaces {
  bool on_switch = false;            // in the path
  std::vector<std::uint64_t> hosts;  // of dedicated aggregators, beside the ranks'
  bool on_workers = false;
  unsigned switch_weight = 1;  // where both share the work
  unsigned worker_weight = 1;
};

// When a job that should take so long a sum does not end.
std::chrono::seconds hopeless_after(double sum_s, unsigned iterations);

// A daemon in each place, and `infold bench allreduce --check` on the host of each rank.
Launch launch_infold(const Lab& lab, const SumJob& job, const SumPlaces& places);

// Requires: the peer's program. `folder` is empty.
Launch launch_gloo(const Lab& lab, const SumJob& job, const std::string& algorithm,
                   const std::filesystem::path& folder);
Launch launch_openmpi(const Lab& lab, const SumJob& job, const std::string& algorithm);

}  // namespace infold::lab
