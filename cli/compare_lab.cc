// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_lab.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/interrupt.h"

namespace infold::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::filesystem::path;

// Its own, so that a lab that somebody made by hand stays. Fixed, so that
// `./dev lab down --name infold-bench` removes what a killed comparison left.
constexpr const char* kLab = "infold-bench";
constexpr const char* kLockFile = "/run/lock/infold-bench.lock";
constexpr const char* kSwitchAddress = "10.77.0.254:7700";
constexpr const char* kMeetingPoint = "10.77.0.1:7701";
constexpr std::chrono::seconds kLabLimit{120};
constexpr std::chrono::seconds kDaemonLimit{10};
constexpr std::chrono::milliseconds kPause{10};

// A round of one size should take about this long, so that five rounds of five sizes and five
// implementations take minutes; large tensors take longer, since three sums are the fewest that
// have a median.
constexpr double kSecondsPerRun = 1.0;
constexpr unsigned kIterationsMin = 3;
constexpr unsigned kIterationsMax = 500;
// What is assumed of what the links do not limit.
constexpr double kSecondsPerSum = 1e-3;
constexpr double kUnshapedBitsPerSecond = 2e9;
// A run takes a few times its bound; what takes this many does not end.
constexpr double kHopeless = 30;

std::string rank_address(std::uint64_t rank) { return fmt::format("10.77.0.{}", rank + 1); }

path found(const path& program, const std::string& package) {
  if (access(program.c_str(), X_OK) == 0) return program;
  throw std::runtime_error(fmt::format(
      "{} is missing: apt-get install {}, then cmake --preset release and cmake --build --preset "
      "peers; ./dev bench compare does all that",
      program.string(), package));
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t kMost = 600;
  const std::string tail = text.size() > kMost ? "..." + text.substr(text.size() - kMost) : text;
  const std::size_t end = tail.find_last_not_of(" \n");
  return end == std::string::npos ? "" : tail.substr(0, end + 1);
}

}  // namespace

Places Places::find() {
  const path self = std::filesystem::read_symlink("/proc/self/exe");
  for (path folder = self.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (exists(folder / "tools/lab/lab.py")) {
      return {folder / "tools/lab/lab.py", self, self.parent_path() / "bench/peers"};
    }
  }
  throw std::runtime_error(
      fmt::format("{} lies outside of infold's sources, whose tools/lab/lab.py makes the links",
                  self.string()));
}

CompareLab::CompareLab(const Conditions& conditions, Places places)
    : conditions_(conditions), places_(std::move(places)) {
  for (const Implementation& each : conditions_.implementations) {
    if (each.way == Way::gloo) found(places_.peers / "infold-peer-gloo", "libgloo-dev");
    if (each.way == Way::openmpi) {
      found(places_.peers / "infold-peer-openmpi", "libopenmpi-dev openmpi-bin");
    }
  }
  lock_ = open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw std::runtime_error(fmt::format("cannot write {}: are you root?", kLockFile));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw std::runtime_error("another comparison runs on this machine; two would share its cores");
  }
  std::string name = (std::filesystem::temp_directory_path() / "infold-bench-XXXXXX").string();
  scratch_ = mkdtemp(name.data());
}

CompareLab::~CompareLab() {
  if (world_ > 0) down();
  std::error_code ignored;  // The folder is in a place that the system empties.
  std::filesystem::remove_all(scratch_, ignored);
  close(lock_);
}

void CompareLab::up(std::uint64_t world) {
  world_ = world;
  const Finished made =
      run_to_end({places_.lab, "up", "--name", kLab, "--world", fmt::format("{}", world), "--rate",
                  conditions_.rate, "--mtu", fmt::format("{}", conditions_.mtu), "--loss",
                  fmt::format("{}", conditions_.loss), "--congestion", conditions_.congestion},
                 scratch_, kLabLimit);
  if (made.status != 0) throw std::runtime_error(last_lines(made.text));
}

void CompareLab::down() {
  run_to_end({places_.lab, "down", "--name", kLab}, scratch_, kLabLimit);
  world_ = 0;
}

Words CompareLab::at(const std::string& node, const Words& words) const {
  Words all = {places_.lab, "exec", "--name", kLab, node, "--"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
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
  // Warming up and checking are sums, too.
  const double sums = iterations_of(bytes) + 3;
  return std::chrono::seconds(static_cast<int>(60 + kHopeless * bound * sums));
}

CompareLab::Launch CompareLab::launch(const Implementation& implementation, std::uint64_t bytes,
                                      const path& folder) const {
  if (implementation.way == Way::gloo) return launch_gloo(implementation, bytes, folder);
  if (implementation.way == Way::openmpi) return launch_openmpi(implementation, bytes);
  return launch_infold(implementation, bytes);
}

CompareLab::Launch CompareLab::launch_infold(const Implementation& implementation,
                                             std::uint64_t bytes) const {
  Launch launch;
  Words where = {"--rendezvous", kMeetingPoint, "--sites", "workers"};
  if (implementation.way == Way::infold_switch) {
    launch.daemon = at("switch", {places_.infold, "switch", "--listen", kSwitchAddress, "--json"});
    where = {"--switch", kSwitchAddress};
  }
  const auto deadline_s = limit_of(implementation, bytes).count();
  for (std::uint64_t rank = 0; rank < world_; ++rank) {
    Words words = {places_.infold, "bench", "allreduce"};
    words.insert(words.end(), where.begin(), where.end());
    const Words rest = {"--job",        "compare",
                        "--rank",       fmt::format("{}", rank),
                        "--world",      fmt::format("{}", world_),
                        "--bytes",      fmt::format("{}", bytes),
                        "--dtype",      "f32",
                        "--wire",       implementation.algorithm,
                        "--deadline",   fmt::format("{}", deadline_s),
                        "--iterations", fmt::format("{}", iterations_of(bytes)),
                        "--check",      "--json"};
    words.insert(words.end(), rest.begin(), rest.end());
    launch.ranks.push_back(at(fmt::format("{}", rank), words));
  }
  return launch;
}

CompareLab::Launch CompareLab::launch_gloo(const Implementation& implementation,
                                           std::uint64_t bytes, const path& folder) const {
  const path store = folder / "store";
  create_directory(store);
  Launch launch;
  for (std::uint64_t rank = 0; rank < world_; ++rank) {
    launch.ranks.push_back(
        at(fmt::format("{}", rank),
           {places_.peers / "infold-peer-gloo", "--algorithm", implementation.algorithm, "--rank",
            fmt::format("{}", rank), "--world", fmt::format("{}", world_), "--store", store,
            "--address", rank_address(rank), "--bytes", fmt::format("{}", bytes), "--iterations",
            fmt::format("{}", iterations_of(bytes)), "--json"}));
  }
  return launch;
}

// mpirun runs on the switch and reaches each rank's host as it would over ssh, with the lab in
// ssh's place. Everything goes over the links by TCP; ranks that wait let others run, because
// there are more of them than cores.
CompareLab::Launch CompareLab::launch_openmpi(const Implementation& implementation,
                                              std::uint64_t bytes) const {
  const path agent = scratch_ / "agent";
  std::ofstream(agent) << "#!/bin/sh\n# HOST COMMAND...: starts the command on the host.\n"
                          "rank=$((${1##*.} - 1))\nshift\n"
                       << fmt::format("exec {} exec --name {} $rank -- sh -c \"$*\"\n",
                                      places_.lab.string(), kLab);
  permissions(agent, std::filesystem::perms::owner_all);
  std::string hosts;
  for (std::uint64_t rank = 0; rank < world_; ++rank) {
    hosts += fmt::format("{}{}:1", rank == 0 ? "" : ",", rank_address(rank));
  }
  Words words = {"mpirun", "--allow-run-as-root", "-np", fmt::format("{}", world_), "--host",
                 hosts,    "--bind-to",           "none"};
  const std::pair<const char*, std::string> settings[] = {
      {"plm_rsh_agent", agent},
      {"plm_rsh_no_tree_spawn", "1"},
      {"oob_tcp_if_include", "10.77.0.0/24"},
      {"pml", "ob1"},
      {"btl", "tcp,self"},
      {"btl_tcp_if_include", "10.77.0.0/24"},
      // Sends only. With its default, puts, a rank does not send while it receives: half speed.
      {"btl_tcp_flags", "1"},
      {"mpi_yield_when_idle", "1"}};
  for (const auto& [name, value] : settings) {
    words.insert(words.end(), {"--mca", name, value});
  }
  words.insert(words.end(), {places_.peers / "infold-peer-openmpi", "--algorithm",
                             implementation.algorithm, "--bytes", fmt::format("{}", bytes),
                             "--iterations", fmt::format("{}", iterations_of(bytes)), "--json"});
  Launch launch;
  launch.ranks.push_back(at("switch", words));
  return launch;
}

Sample CompareLab::measure(const Implementation& implementation, std::uint64_t bytes,
                           unsigned round) {
  Sample sample;
  sample.impl = implementation.name;
  sample.world = world_;
  sample.bytes = bytes;
  sample.round = round;
  const path folder = scratch_ / "run";
  std::filesystem::remove_all(folder);
  create_directory(folder);
  run(launch(implementation, bytes, folder), limit_of(implementation, bytes), folder, sample);
  return sample;
}

void CompareLab::run(const Launch& launch, std::chrono::seconds limit, const path& folder,
                     Sample& sample) const {
  const path log = folder / "log";
  std::vector<Child> children;  // The last started is the first to be stopped.
  const auto wait_until = [&](auto done, std::chrono::seconds most) {
    const Clock::time_point end = Clock::now() + most;
    while (!done()) {
      if (InterruptGuard::interrupted()) sample.error = "stopped on request";
      if (Clock::now() > end) sample.error = fmt::format("not done after {} s", most.count());
      if (!sample.error.empty()) return false;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  };
  const std::size_t daemons = launch.daemon.empty() ? 0 : 1;
  if (daemons > 0) {
    const path said = folder / "daemon";
    children.emplace_back(launch.daemon, said, log);
    const bool ready =
        wait_until([&] { return children[0].poll() || !read_file(said).empty(); }, kDaemonLimit);
    if (!ready) return;
  }
  for (std::size_t i = 0; i < launch.ranks.size(); ++i) {
    children.emplace_back(launch.ranks[i], folder / (i == 0 ? "result" : "others"), log);
  }
  std::size_t ended = 0;
  const bool done = wait_until(
      [&] {
        ended = 0;
        for (std::size_t i = 0; i < children.size(); ++i) {
          const auto status = children[i].poll();
          const bool daemon = i < daemons;
          if (status && (daemon || *status != 0)) {
            sample.error = fmt::format(
                "{} ended with status {}",
                daemon ? std::string("the switch") : fmt::format("rank {}", i - daemons), *status);
          }
          ended += status.has_value() && !daemon;
        }
        return ended == launch.ranks.size() || !sample.error.empty();
      },
      limit);
  for (Child& child : children) child.ask_to_end();
  for (Child& child : children) child.stop();
  if (done && sample.error.empty()) {
    sample.measured = nlohmann::ordered_json::parse(read_file(folder / "result"), nullptr, false);
    if (sample.measured.is_object()) return;
    sample.error = "rank 0 printed no result";
  }
  const std::string reason = last_lines(read_file(log));
  if (!reason.empty()) sample.error += ": " + reason;
}

}  // namespace infold::cli
