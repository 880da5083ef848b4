// SPDX-License-Identifier: Apache-2.0
//
// The log lines of the daemon itself, the same for both planes: its start, changes of its
// interfaces, its end. src/control logs joins and jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/line/options.h"

namespace infold::cli {

// How often the daemon reports lines that were left out, when nothing else happens.
constexpr std::chrono::milliseconds kLogTick{1'000};

// --log and --log-level, of every command that logs events.
class LogOptions {
 public:
  void declare(Options& options);
  void apply() const;  // after parsing

 private:
  std::string format_ = "text";
  std::string level_ = "info";
};

void log_start(const std::string& listen, const std::string& control, const char* plane);
// Reports how many lines of each kind were left out.
void log_quiet_moment();
void log_news(const std::string& news);
// Requires: an InterruptGuard, which knows the signal.
void log_stop(std::size_t jobs);

}  // namespace infold::cli
