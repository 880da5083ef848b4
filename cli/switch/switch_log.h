// SPDX-License-Identifier: Apache-2.0
//
// The log lines of the daemon itself, the same for both planes: its start, changes of its
// interfaces, its end. src/control logs joins and jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace infold::cli {

// How often the daemon reports lines that were left out, when nothing else happens.
constexpr std::chrono::milliseconds kLogTick{1'000};

void set_log(const std::string& level, const std::string& format);
void log_start(const std::string& listen, const std::string& control, const char* plane);
// Reports how many lines of each kind were left out.
void log_quiet_moment();
void log_news(const std::string& news);
// Requires: an InterruptGuard, which knows the signal.
void log_stop(std::size_t jobs);

}  // namespace infold::cli
