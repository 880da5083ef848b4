// SPDX-License-Identifier: Apache-2.0
#include "study/measure/compare/compare_lab.h"

#include <algorithm>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>

#include "study/measure/compare/launch.h"
#include "study/measure/host/cores.h"

namespace infold::measure {
namespace {

// The seconds that a round of one size should take, so that five rounds of five sizes and five
// implementations take minutes. Large tensors take longer, because a median needs three sums.
constexpr double kSecondsPerRun = 1.0;
constexpr unsigned kIterationsMin = 3;
constexpr unsigned kIterationsMax = 500;
// Assumptions for times that the links do not determine.
constexpr double kSecondsPerSum = 1e-3;
constexpr double kUnshapedBitsPerSecond = 2e9;

// On 16 processors, 4 ranks took 71 ms for 25 MiB with one switch thread, 29 ms with two, 22 ms
// with four and 21 ms with eight.
constexpr std::size_t kSwitchThreadsMax = 8;

// Each rank gets one processor, and the switch gets all that are left.
void place_apart(Launch& launch) {
  const std::vector<int> cores = spread_cores();
  const std::span<const int> all(cores);
  std::size_t next = 0;
  for (desk::Words& words : launch.ranks) words = on_cores(all.subspan(next++, 1), words);
  for (desk::Words& words : launch.daemons) words = on_cores(all.subspan(next), words);
}

void require_processors(const Conditions& conditions) {
  const std::uint64_t ranks = *std::ranges::max_element(conditions.worlds);
  const std::uint64_t needed = ranks + (conditions.one_host ? 0 : 1);
  const std::size_t has = own_cores().size();
  if (has >= needed) return;
  throw std::runtime_error(
      fmt::format("--apart needs {} processors for {} ranks{}, and this process may use {}", needed,
                  ranks, conditions.one_host ? "" : " and a switch", has));
}

void require(const std::filesystem::path& program, const std::string& package) {
  if (access(program.c_str(), X_OK) == 0) return;
  throw std::runtime_error(fmt::format(
      "{} is missing: apt-get install {}, then cmake --preset release and cmake --build --preset "
      "rivals; ./dev bench compare does all that",
      program.string(), package));
}

}  // namespace

CompareLab::CompareLab(const Conditions& conditions, const Places& places)
    : conditions_(conditions), lab_(places) {
  if (conditions_.apart) require_processors(conditions_);
  for (const Implementation& each : conditions_.implementations) {
    if (each.way == Way::gloo) require(places.rivals / "infold-rival-gloo", "libgloo-dev");
    if (each.way == Way::openmpi) {
      require(places.rivals / "infold-rival-openmpi", "libopenmpi-dev openmpi-bin");
    }
  }
}

void CompareLab::up(std::uint64_t world) {
  world_ = world;
  if (conditions_.one_host) return;
  LabLinks links;
  links.hosts = world;
  links.rate = conditions_.rate;
  links.mtu = conditions_.mtu;
  links.loss = conditions_.loss;
  links.congestion = conditions_.congestion;
  lab_.up(links);
}

unsigned CompareLab::iterations_of(std::uint64_t bytes) const {
  if (conditions_.iterations != 0) return conditions_.iterations;
  const double rate =
      conditions_.bits_per_second > 0 ? conditions_.bits_per_second : kUnshapedBitsPerSecond;
  const double seconds = kSecondsPerSum + 2 * 8 * static_cast<double>(bytes) / rate;
  return static_cast<unsigned>(
      std::clamp(kSecondsPerRun / seconds, double{kIterationsMin}, double{kIterationsMax}));
}

std::chrono::seconds CompareLab::limit_of(const Implementation& implementation,
                                          std::uint64_t bytes) const {
  const double bound =
      std::max(bound_s(conditions_, implementation, world_, bytes), kSecondsPerSum);
  return hopeless_after(bound, iterations_of(bytes));
}

Launch CompareLab::launch(const Implementation& implementation, std::uint64_t bytes,
                          const std::filesystem::path& folder) const {
  SumJob job;
  job.world = world_;
  job.bytes = bytes;
  job.iterations = iterations_of(bytes);
  job.deadline = limit_of(implementation, bytes);
  job.layout = implementation.layout;
  job.block = implementation.block;
  job.zeros = conditions_.zeros;
  if (implementation.way == Way::gloo) {
    return launch_gloo(lab_, job, implementation.algorithm, folder);
  }
  if (implementation.way == Way::openmpi) {
    return launch_openmpi(lab_, job, implementation.algorithm);
  }
  job.wire = implementation.algorithm;
  SumPlaces places;
  // Ranks of one host do not need a switch, because they sum in the host's memory.
  places.on_switch = implementation.way == Way::infold_switch && !conditions_.one_host;
  places.on_workers = !places.on_switch;
  if (conditions_.apart && places.on_switch) {
    places.switch_threads = std::min(own_cores().size() - world_, kSwitchThreadsMax);
  }
  return launch_infold(lab_, job, places);
}

Sample CompareLab::measure(const Implementation& implementation, std::uint64_t bytes,
                           unsigned round) {
  Launch processes = launch(implementation, bytes, lab_.fresh_folder());
  if (conditions_.apart) place_apart(processes);
  const Measured measured = lab_.run(processes, limit_of(implementation, bytes));
  return {implementation.name, world_, bytes, round, measured.error, measured.result};
}

}  // namespace infold::measure
