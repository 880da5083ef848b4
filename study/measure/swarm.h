// SPDX-License-Identifier: Apache-2.0
//
// Runs many seeds at once. Runs share nothing, so each thread takes the next seed when it is free.
// The run of a seed depends on nothing but the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace infold::measure {

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
  std::uint64_t hash = 0;         // combines the hashes of all runs, whatever their order
  std::vector<Failure> failures;  // ordered by seed
};

// `progress` receives the number of runs that are done and of runs that failed. One thread at a
// time calls it every now and then. If it returns false, the swarm ends early.
using SwarmProgress = std::function<bool(std::uint64_t runs, std::uint64_t failures)>;
SwarmResult run_swarm(const SwarmOptions& options, const SwarmProgress& progress);

// Returns the seed that the calling thread is running, or 0 if it runs none. The message of a
// failed CHECK needs it.
std::uint64_t seed_of_this_thread();

}  // namespace infold::measure
