// SPDX-License-Identifier: Apache-2.0
//
// Many seeds at once. Runs share nothing, so any number of threads take the next seed each; what
// a seed does depends on nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace infold::lab {

struct SwarmOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seed_count = 1;
  std::uint32_t job_count = 1;
};

struct SwarmResult {
  struct Failure {
    std::uint64_t seed = 0;
    std::vector<std::string> wrong;
  };
  std::uint64_t runs = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_arrived = 0;
  std::uint64_t hops = 0;
  std::uint64_t hash = 0;         // of all runs' hashes, whatever the order they ran in
  std::vector<Failure> failures;  // by seed
};

// `progress` is called now and then, from one thread at a time, with the number of runs done and
// of those that failed; when it returns false the swarm ends early.
using SwarmProgress = std::function<bool(std::uint64_t runs, std::uint64_t failures)>;
SwarmResult run_swarm(const SwarmOptions& options, const SwarmProgress& progress);

// The seed that the calling thread is running, for a last word when a CHECK fails; 0 if none.
std::uint64_t seed_of_this_thread();

}  // namespace infold::lab
