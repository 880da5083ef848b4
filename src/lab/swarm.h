// SPDX-License-Identifier: Apache-2.0
//
// Runs many seeds at once. Runs share nothing, so each thread takes the next seed when it is free.
// A seed's run depends on nothing but the seed.
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
  std::uint64_t hash = 0;         // combines all runs' hashes in any order
  std::vector<Failure> failures;  // by seed
};

// `progress` gets the number of runs done and of failed ones. It is called now and then, from one
// thread at a time. When it returns false, the swarm ends early.
using SwarmProgress = std::function<bool(std::uint64_t runs, std::uint64_t failures)>;
SwarmResult run_swarm(const SwarmOptions& options, const SwarmProgress& progress);

// Returns the seed that the calling thread is running, 0 if none. For the message of a failed
// CHECK.
std::uint64_t seed_of_this_thread();

}  // namespace infold::lab
