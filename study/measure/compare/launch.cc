// SPDX-License-Identifier: Apache-2.0
#include "study/measure/compare/launch.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace infold::measure {
namespace {

using std::filesystem::path;

// A run takes a few times its bound or its prediction. A run that takes this many times as long
// will never end.
constexpr double kHopeless = 30;
// The time to start and to end a job.
constexpr double kStart_s = 60;
// Warming up and checking also make sums.
constexpr unsigned kSumsBeside = 3;

constexpr int kSwitchPort = 7700;
constexpr int kMeetingPort = 7701;

void add_zeros(const SumJob& job, desk::Words& words) {
  if (job.zeros.share == 0) return;
  words.insert(words.end(), {"--zeros", fmt::format("{}", job.zeros.share)});
  if (job.zeros.at_end) words.emplace_back("--zeros-at-end");
}

// Starts a switch on the host and returns its address.
std::string add_switch(const Lab& lab, Launch& launch, const std::string& node,
                       const std::string& host, std::size_t threads) {
  const std::string address = fmt::format("{}:{}", host, kSwitchPort);
  launch.daemons.push_back(
      lab.at(node, {lab.places().infold, "switch", "--insecure", "--listen", address, "--threads",
                    fmt::format("{}", threads), "--json", "--log-level", "warn"}));
  return address;
}

// Returns the mpirun command for ranks that all run on this host, in shared memory.
desk::Words mpirun_here(std::uint64_t world) {
  return {"mpirun",
          "--allow-run-as-root",
          "-np",
          fmt::format("{}", world),
          "--oversubscribe",
          "--bind-to",
          "none",
          "--mca",
          "pml",
          "ob1",
          "--mca",
          "btl",
          "vader,self"};
}

// Returns the mpirun command for the lab's hosts. mpirun runs on the switch. Instead of ssh it uses
// the lab, which starts each rank on its host. All data crosses the links over TCP.
desk::Words mpirun_in_lab(const Lab& lab, std::uint64_t world) {
  const path agent = lab.scratch() / "agent";
  std::ofstream(agent) << "#!/bin/sh\n# HOST COMMAND...: starts the command on the host.\n"
                          "rank=$((${1##*.} - 1))\nshift\n"
                       << fmt::format("exec {} sh -c \"$*\"\n",
                                      fmt::join(lab.at("$rank", {}), " "));
  permissions(agent, std::filesystem::perms::owner_all);
  std::string hosts;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    hosts += fmt::format("{}{}:1", rank == 0 ? "" : ",", host_address(rank));
  }
  desk::Words words = {"mpirun", "--allow-run-as-root", "-np", fmt::format("{}", world), "--host",
                       hosts,    "--bind-to",           "none"};
  const std::pair<const char*, std::string> settings[] = {
      {"plm_rsh_agent", agent},
      {"plm_rsh_no_tree_spawn", "1"},
      {"oob_tcp_if_include", "10.77.0.0/24"},
      {"pml", "ob1"},
      {"btl", "tcp,self"},
      {"btl_tcp_if_include", "10.77.0.0/24"},
      // Allows sends only. With the default, which also allows puts, a rank does not send while it
      // receives, which halves the speed.
      {"btl_tcp_flags", "1"}};
  for (const auto& [name, value] : settings) {
    words.insert(words.end(), {"--mca", name, value});
  }
  return words;
}

}  // namespace

std::chrono::seconds hopeless_after(double sum_s, unsigned iterations) {
  return std::chrono::seconds(
      static_cast<int>(kStart_s + kHopeless * sum_s * (iterations + kSumsBeside)));
}

Launch launch_infold(const Lab& lab, const SumJob& job, const SumPlaces& places) {
  Launch launch;
  std::vector<std::string> switches;
  if (places.on_switch) {
    const std::string host = lab.has_links() ? kSwitchHost : lab.address(0);
    switches.push_back(add_switch(lab, launch, kSwitchNode, host, places.switch_threads));
  }
  for (const std::uint64_t host : places.hosts) {
    switches.push_back(add_switch(lab, launch, fmt::format("{}", host), host_address(host), 1));
  }
  desk::Words where = {"--rendezvous", fmt::format("{}:{}", lab.address(0), kMeetingPort),
                       "--place", "workers"};
  if (!switches.empty()) {
    where = {"--switch", fmt::format("{}", fmt::join(switches, ",")), "--place", "switches"};
    if (places.on_workers) {
      where.back() = "mixed";
      where.insert(where.end(), {"--switch-weight", fmt::format("{}", places.switch_weight),
                                 "--worker-weight", fmt::format("{}", places.worker_weight)});
    }
  }
  for (std::uint64_t rank = 0; rank < job.world; ++rank) {
    desk::Words words = {lab.places().infold, "bench", "allreduce"};
    words.insert(words.end(), where.begin(), where.end());
    const desk::Words rest = {"--job",        "lab",
                              "--rank",       fmt::format("{}", rank),
                              "--ranks",      fmt::format("{}", job.world),
                              "--bytes",      fmt::format("{}", job.bytes),
                              "--dtype",      job.dtype,
                              "--format",     job.wire,
                              "--layout",     job.layout,
                              "--deadline",   fmt::format("{}", job.deadline.count()),
                              "--iterations", fmt::format("{}", job.iterations),
                              "--check",      "--json"};
    words.insert(words.end(), rest.begin(), rest.end());
    if (job.mtu != 0) words.insert(words.end(), {"--mtu", fmt::format("{}", job.mtu)});
    if (!job.shared_memory) words.insert(words.end(), {"--shared-memory", "off"});
    add_zeros(job, words);
    launch.ranks.push_back(lab.at(fmt::format("{}", rank), words));
  }
  return launch;
}

Launch launch_gloo(const Lab& lab, const SumJob& job, const std::string& algorithm,
                   const path& folder) {
  const path store = folder / "store";
  create_directory(store);
  Launch launch;
  for (std::uint64_t rank = 0; rank < job.world; ++rank) {
    desk::Words words = {lab.places().rivals / "infold-rival-gloo",
                         "--algorithm",
                         algorithm,
                         "--rank",
                         fmt::format("{}", rank),
                         "--ranks",
                         fmt::format("{}", job.world),
                         "--store",
                         store,
                         "--address",
                         lab.address(rank),
                         "--bytes",
                         fmt::format("{}", job.bytes),
                         "--iterations",
                         fmt::format("{}", job.iterations),
                         "--block",
                         fmt::format("{}", job.block),
                         "--json"};
    add_zeros(job, words);
    launch.ranks.push_back(lab.at(fmt::format("{}", rank), words));
  }
  return launch;
}

// Waiting ranks let others run, because there are more ranks than cores.
Launch launch_openmpi(const Lab& lab, const SumJob& job, const std::string& algorithm) {
  desk::Words words = lab.has_links() ? mpirun_in_lab(lab, job.world) : mpirun_here(job.world);
  words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
  words.insert(words.end(), {lab.places().rivals / "infold-rival-openmpi", "--algorithm", algorithm,
                             "--bytes", fmt::format("{}", job.bytes), "--iterations",
                             fmt::format("{}", job.iterations), "--json"});
  Launch launch;
  launch.ranks.push_back(lab.at(kSwitchNode, words));
  return launch;
}

}  // namespace infold::measure
