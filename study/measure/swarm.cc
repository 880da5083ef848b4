// SPDX-License-Identifier: Apache-2.0
//
// Threads take seeds from one counter.
#include "study/measure/swarm.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/mutex.h"
#include "base/prng.h"
#include "study/sim/scenario/draw.h"
#include "study/sim/simulation.h"

namespace infold::measure {
namespace {

constexpr std::uint64_t kRunsBetweenReports = 100;

thread_local std::uint64_t current_seed = 0;

class Swarm {
 public:
  Swarm(const SwarmOptions& options, const SwarmProgress& progress)
      : options_(options), progress_(progress) {}

  SwarmResult run() {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 1; i < options_.job_count; ++i) {
      threads.emplace_back([this] { take_seeds(); });
    }
    take_seeds();
    for (std::thread& thread : threads) thread.join();
    const base::MutexLock lock(mutex_);
    std::sort(result_.failures.begin(), result_.failures.end(),
              [](const auto& a, const auto& b) { return a.seed < b.seed; });
    return std::move(result_);
  }

 private:
  void take_seeds() {
    while (!stopped_) {
      const std::uint64_t index = next_++;
      if (index >= options_.seed_count) return;
      const std::uint64_t seed = options_.first_seed + index;
      current_seed = seed;
      const sim::Outcome outcome = sim::run(sim::draw_scenario(seed));
      current_seed = 0;
      note(seed, outcome);
    }
  }

  void note(std::uint64_t seed, const sim::Outcome& outcome) {
    const base::MutexLock lock(mutex_);
    ++result_.runs;
    result_.packets_sent += outcome.network.sent;
    result_.packets_arrived += outcome.network.arrived;
    result_.hops += outcome.network.hops;
    result_.hash += base::mix64(outcome.hash + seed);
    if (!outcome.passed()) result_.failures.push_back({seed, outcome.wrong});
    if (result_.runs % kRunsBetweenReports == 0 || !outcome.passed()) {
      if (!progress_(result_.runs, result_.failures.size())) stopped_ = true;
    }
  }

  const SwarmOptions& options_;
  const SwarmProgress& progress_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> stopped_ = false;
  base::Mutex mutex_;
  SwarmResult result_ GUARDED_BY(mutex_);
};

}  // namespace

std::uint64_t seed_of_this_thread() { return current_seed; }

SwarmResult run_swarm(const SwarmOptions& options, const SwarmProgress& progress) {
  return Swarm(options, progress).run();
}

}  // namespace infold::measure
