// SPDX-License-Identifier: Apache-2.0
#include "study/measure/compare/lab.h"

#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "study/desk/interrupt.h"

namespace infold::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::filesystem::path;

// The lab has a name of its own, so that it does not replace a lab that a person has made. The name
// is fixed, so that `./dev lab down --name infold-bench` removes what a killed measurement has
// left.
constexpr const char* kLab = "infold-bench";
// A loopback address that no other program uses, so that its ports are free.
constexpr const char* kThisHost = "127.77.0.1";
constexpr const char* kLockFile = "/run/lock/infold-bench.lock";
constexpr std::chrono::seconds kLabLimit{120};
constexpr std::chrono::seconds kDaemonLimit{60};  // only a hang takes as long
constexpr std::chrono::milliseconds kPause{10};

std::string last_lines(const std::string& text) {
  constexpr std::size_t kMost = 600;
  const std::string tail = text.size() > kMost ? "..." + text.substr(text.size() - kMost) : text;
  return desk::trimmed(tail);
}

// The processes of one running measurement. They are stopped in reverse order.
class Run {
 public:
  explicit Run(path folder) : folder_(std::move(folder)) {}

  const std::string& error() const { return error_; }
  path result() const { return folder_ / "result"; }
  path log() const { return folder_ / "log"; }

  bool start_daemons(const std::vector<desk::Words>& daemons) {
    for (const desk::Words& words : daemons) {
      const path said = folder_ / fmt::format("daemon-{}", daemons_);
      children_.emplace_back(words, said, log());
      ++daemons_;
      const auto ready = [&] { return children_.back().poll() || !desk::read_file(said).empty(); };
      if (!wait_until(ready, kDaemonLimit)) return false;
    }
    return true;
  }

  void start_ranks(const std::vector<desk::Words>& ranks) {
    for (const desk::Words& words : ranks) {
      const bool first = children_.size() == daemons_;
      children_.emplace_back(words, first ? result() : folder_ / "others", log());
    }
  }

  bool wait_for_ranks(std::chrono::seconds limit) {
    return wait_until([this] { return look(); }, limit) && error_.empty();
  }

  void end() {
    for (desk::Child& child : children_) child.ask_to_end();
    for (desk::Child& child : children_) child.stop();
  }

 private:
  // Returns true once all ranks have ended or an error is known.
  bool look() {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      const auto status = children_[i].poll();
      const bool daemon = i < daemons_;
      if (status && (daemon || *status != 0)) {
        error_ = fmt::format("{} ended with status {}",
                             daemon ? "a switch" : fmt::format("rank {}", i - daemons_), *status);
        return true;
      }
      ended += status.has_value() && !daemon;
    }
    return ended == children_.size() - daemons_;
  }

  template <typename Done>
  bool wait_until(Done done, std::chrono::seconds most) {
    const Clock::time_point end = Clock::now() + most;
    while (!done()) {
      if (desk::InterruptGuard::interrupted()) error_ = "stopped on request";
      if (Clock::now() > end) error_ = fmt::format("not done after {} s", most.count());
      if (!error_.empty()) return false;
      std::this_thread::sleep_for(kPause);
    }
    return true;
  }

  path folder_;
  std::vector<desk::Child> children_;
  std::size_t daemons_ = 0;
  std::string error_;
};

}  // namespace

std::string host_address(std::uint64_t rank) { return fmt::format("10.77.0.{}", rank + 1); }

Places Places::find() {
  const path self = std::filesystem::read_symlink("/proc/self/exe");
  for (path folder = self.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (exists(folder / "tools/lab/lab.py")) {
      return {folder / "tools/lab/lab.py", self, self.parent_path() / "bench/rivals"};
    }
  }
  throw std::runtime_error(fmt::format(
      "{} lies outside of infold's source tree; tools/lab/lab.py of that tree makes the links",
      self.string()));
}

Lab::Lab(Places places) : places_(std::move(places)) {
  // Any user can lock a file that can be read. Linux refuses O_CREAT for another user's file there.
  lock_ = open(kLockFile, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) lock_ = open(kLockFile, O_RDONLY | O_CLOEXEC);
  if (lock_ < 0) throw std::runtime_error(fmt::format("cannot open {}: are you root?", kLockFile));
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw std::runtime_error(
        "another measurement runs on this machine; two at once would share its cores");
  }
}

Lab::~Lab() {
  if (is_up_) down();
  close(lock_);
}

void Lab::up(const LabLinks& links) {
  is_up_ = true;
  desk::Words words = {places_.lab,    "up",
                       "--name",       kLab,
                       "--ranks",      fmt::format("{}", links.hosts),
                       "--link",       links.rate,
                       "--mtu",        fmt::format("{}", links.mtu),
                       "--loss",       fmt::format("{}", links.loss),
                       "--congestion", links.congestion};
  for (const auto& [host, rate] : links.rates_at) {
    words.insert(words.end(), {"--link-at", fmt::format("{}={}", host, rate)});
  }
  const desk::Finished made =
      desk::run_to_end(words, scratch_.path(), kLabLimit, desk::InterruptGuard::interrupted);
  // After Ctrl-C the caller still has to write the measurements made so far.
  if (made.status != 0 && !desk::InterruptGuard::interrupted()) {
    throw std::runtime_error(last_lines(made.text));
  }
}

void Lab::down() {
  desk::run_to_end({places_.lab, "down", "--name", kLab}, scratch_.path(), kLabLimit);
  is_up_ = false;
}

desk::Words Lab::at(const std::string& node, const desk::Words& words) const {
  if (!has_links()) return words;
  desk::Words all = {places_.lab, "exec", "--name", kLab, node, "--"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

std::string Lab::address(std::uint64_t rank) const {
  return has_links() ? host_address(rank) : kThisHost;
}

path Lab::space(const std::string& node) const {
  return path("/run/netns") / fmt::format("{}-{}", kLab, node);
}

path Lab::fresh_folder() const {
  const path folder = scratch_.path() / "run";
  std::filesystem::remove_all(folder);
  create_directory(folder);
  return folder;
}

Measured Lab::run(const Launch& launch, std::chrono::seconds limit) const {
  Run run(scratch_.path() / "run");
  bool done = run.start_daemons(launch.daemons);
  if (done) {
    run.start_ranks(launch.ranks);
    done = run.wait_for_ranks(limit);
  }
  run.end();
  Measured measured;
  measured.error = run.error();
  if (done) {
    measured.result = nlohmann::ordered_json::parse(desk::read_file(run.result()), nullptr, false);
    if (measured.result.is_object()) return measured;
    measured.error = "rank 0 printed no result";
  }
  const std::string reason = last_lines(desk::read_file(run.log()));
  if (!reason.empty()) measured.error += ": " + reason;
  return measured;
}

}  // namespace infold::measure
