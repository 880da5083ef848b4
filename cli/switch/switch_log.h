// SPDX-License-Identifier: Apache-2.0
//
// The log lines that the daemon itself writes, the same for all planes: its start, changes of its
// interfaces, its end. src/join logs joins and jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/line/options.h"

namespace infold::cli {

// How often the daemon reports omitted log lines when nothing else happens.
constexpr std::chrono::milliseconds kLogTick{1'000};

// The options --log and --log-level of every command that logs events.
class LogOptions {
 public:
  void declare(Options& options);
  void apply() const;  // call this after parsing

 private:
  std::string format_ = "text";
  std::string level_ = "info";
};

void log_start(const std::string& listen, const std::string& join_address, const char* plane);
// Reports how many lines of each kind were omitted.
void log_quiet_moment();
void log_news(const std::string& news);
// Requires: an InterruptGuard, which knows which signal came.
void log_stop(std::size_t jobs);

}  // namespace infold::cli
