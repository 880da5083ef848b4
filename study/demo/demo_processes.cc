// SPDX-License-Identifier: Apache-2.0
#include "study/demo/demo_processes.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "study/desk/child.h"
#include "study/desk/interrupt.h"

namespace infold::demo {
namespace {

using Clock = std::chrono::steady_clock;
using std::filesystem::path;

// Short compared with a training step on a slow machine, but long enough to cost little processor
// time.
constexpr std::chrono::milliseconds kPause{5};
constexpr std::chrono::seconds kSwitchLimit{20};
// Workers learn over TCP, at once, that another worker has died.
constexpr std::chrono::seconds kLastWordsLimit{5};
// The deadline for joining and for calls. On a busy machine a worker may wait long for a processor.
constexpr unsigned kDeadline_s = 30;

// Returns the complete lines that a process has added to a file since the last call.
class Lines {
 public:
  explicit Lines(path file) : file_(std::move(file)) {}

  std::vector<std::string> fresh() {
    std::vector<std::string> lines;
    std::ifstream file(file_);
    file.seekg(seen_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      seen_ += static_cast<std::streamoff>(line.size() + 1);
      lines.push_back(line);
    }
    return lines;
  }

 private:
  path file_;
  std::streamoff seen_ = 0;
};

std::string ending(int status) {
  return status > 128 ? fmt::format("was ended by signal {}", status - 128)
                      : fmt::format("ended with status {}", status);
}

class Job {
 public:
  explicit Job(const ProcessOptions& options) : options_(options) {}

  TrainingResult run(const Progress& progress) {
    const Clock::time_point start = Clock::now();
    if (start_switches()) {
      start_workers();
      watch(progress);
    }
    for (Process& each : processes_) each.child.ask_to_end();
    for (Process& each : processes_) each.child.stop();
    if (result_.seconds == 0) {
      result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    return std::move(result_);
  }

 private:
  struct Process {
    std::string name;
    path log;
    desk::Child child;
  };

  Process& start(const std::string& name, const desk::Words& words) {
    const path log = scratch_.path() / (name + ".log");
    desk::Words all = {std::filesystem::read_symlink("/proc/self/exe")};
    all.insert(all.end(), words.begin(), words.end());
    return processes_.emplace_back(name, log,
                                   desk::Child(all, scratch_.path() / (name + ".out"), log));
  }

  bool start_switches() {
    for (unsigned i = 0; i < options_.switches; ++i) {
      const std::string name = fmt::format("switch {}", i);
      Process& process =
          start(name, {"switch", "--listen", "127.0.0.1:0", "--json", "--log-level", "warn"});
      Lines lines(scratch_.path() / (name + ".out"));
      const Clock::time_point limit = Clock::now() + kSwitchLimit;
      std::vector<std::string> said;
      while ((said = lines.fresh()).empty()) {
        result_.stopped = desk::InterruptGuard::interrupted();
        if (result_.stopped) return false;
        if (const auto status = process.child.poll()) {
          result_.error = fmt::format("the switch {}: {}", ending(*status),
                                      desk::trimmed(desk::read_file(process.log)));
          return false;
        }
        if (Clock::now() > limit) {
          result_.error =
              fmt::format("the switch printed no address within {} s", kSwitchLimit.count());
          return false;
        }
        std::this_thread::sleep_for(kPause);
      }
      const std::string at = nlohmann::json::parse(said.front()).at("join");
      switches_ += (switches_.empty() ? "" : ",") + at;
    }
    return true;
  }

  void start_workers() {
    // Without this, the ranks of one host would share memory, and no packet could be lost.
    setenv("INFOLD_SHARED_MEMORY", "off", 1);
    first_worker_ = processes_.size();
    for (unsigned rank = 0; rank < options_.workers; ++rank) {
      start(fmt::format("worker {}", rank), {"demo-worker",
                                             "--switch",
                                             switches_,
                                             "--job",
                                             "demo",
                                             "--rank",
                                             fmt::format("{}", rank),
                                             "--ranks",
                                             fmt::format("{}", options_.workers),
                                             "--mtu",
                                             "1500",
                                             "--deadline",
                                             fmt::format("{}", kDeadline_s),
                                             "--loss",
                                             fmt::format("{}", options_.loss),
                                             "--loss-seed",
                                             fmt::format("{}", options_.loss_seed),
                                             "--format",
                                             options_.wire,
                                             "--seed",
                                             fmt::format("{}", options_.training.seed),
                                             "--steps",
                                             fmt::format("{}", options_.training.steps),
                                             "--hash-step",
                                             fmt::format("{}", options_.training.hash_step),
                                             "--json"});
    }
  }

  // Returns when the last worker has ended, `progress` asks to stop, or a process has failed.
  void watch(const Progress& progress) {
    Lines lines(scratch_.path() / "worker 0.out");
    for (;;) {
      const std::optional<std::size_t> failed = first_failed();
      const bool ended = all_ended();
      for (const std::string& line : lines.fresh()) {
        is_complete_ = take_line(line, result_);
        if (is_complete_) continue;
        if (!progress(result_.steps.back())) result_.stopped = true;
      }
      if (desk::InterruptGuard::interrupted()) result_.stopped = true;
      if (result_.stopped) return;
      if (failed) return explain(*failed);
      if (ended) {
        if (!is_complete_) result_.error = "worker 0 ended without a result";
        return;
      }
      std::this_thread::sleep_for(kPause);
    }
  }

  std::optional<std::size_t> first_failed() {
    // A process that was killed by a signal is the cause. A process that exits with an error may
    // only report the cause.
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const auto status = processes_[i].child.poll();
      if (!status || (*status == 0 && i >= first_worker_)) continue;
      if (!found || *status > 128) found = i;
      if (*status > 128) break;
    }
    return found;
  }

  bool all_ended() {
    for (std::size_t i = first_worker_; i < processes_.size(); ++i) {
      if (!processes_[i].child.poll()) return false;
    }
    return true;
  }

  // Waits for the other workers, which report the failure soon after it.
  void explain(std::size_t failed) {
    const Clock::time_point limit = Clock::now() + kLastWordsLimit;
    while (!all_ended() && Clock::now() < limit) std::this_thread::sleep_for(kPause);
    failed = first_failed().value_or(failed);
    const Process& cause = processes_[failed];
    result_.error = fmt::format("{} {}", cause.name, ending(*processes_[failed].child.poll()));
    const std::string own = desk::trimmed(desk::read_file(cause.log));
    if (!own.empty()) result_.error += ": " + own;
    for (std::size_t i = first_worker_; own.empty() && i < processes_.size(); ++i) {
      const std::string said = desk::trimmed(desk::read_file(processes_[i].log));
      if (said.empty()) continue;
      result_.error += fmt::format("; {} says: {}", processes_[i].name, said);
      return;
    }
  }

  const ProcessOptions& options_;
  desk::ScratchFolder scratch_{"infold-demo"};
  std::vector<Process> processes_;  // stopped in reverse order
  std::size_t first_worker_ = 0;
  std::string switches_;
  TrainingResult result_;
  bool is_complete_ = false;
};

nlohmann::ordered_json to_json(const PacketCounts& packets) {
  return {{"passed", packets.passed},
          {"lost", packets.lost},
          {"resent", packets.resent},
          {"asked", packets.asked}};
}

PacketCounts packets_of(const nlohmann::ordered_json& json) {
  return {json.at("passed"), json.at("lost"), json.at("resent"), json.at("asked")};
}

}  // namespace

TrainingResult train_in_processes(const ProcessOptions& options, const Progress& progress) {
  return Job(options).run(progress);
}

nlohmann::ordered_json to_json(const StepReport& report) {
  return {{"step", report.step}, {"loss", report.loss}, {"packets", to_json(report.packets)}};
}

nlohmann::ordered_json end_to_json(const TrainingResult& result) {
  return {{"seconds", result.seconds},           {"accuracy", result.accuracy},
          {"packets", to_json(result.packets)},  {"model_hashes", result.model_hashes},
          {"hash_at_step", result.hash_at_step}, {"wrong_sums", result.wrong_sums}};
}

bool take_line(const std::string& line, TrainingResult& result) {
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(line);
  if (json.contains("step")) {
    result.steps.push_back({json.at("step"), json.at("loss"), packets_of(json.at("packets"))});
    return false;
  }
  result.seconds = json.at("seconds");
  result.accuracy = json.at("accuracy");
  result.packets = packets_of(json.at("packets"));
  result.model_hashes = json.at("model_hashes").get<std::vector<std::uint64_t>>();
  result.hash_at_step = json.at("hash_at_step");
  result.wrong_sums = json.at("wrong_sums");
  return true;
}

}  // namespace infold::demo
