// SPDX-License-Identifier: Apache-2.0
//
// What the daemon itself logs, in the same words for both planes: its start, news of its
// interfaces, its end. Joins and jobs are logged where they happen, in src/control.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace infold::cli {

// How often lines that were left out are told where nothing else happens.
constexpr std::chrono::milliseconds kLogTick{1'000};

void set_log(const std::string& level, const std::string& format);
void log_start(const std::string& listen, const std::string& control, const char* plane);
// Tells how many lines rates have left out.
void log_quiet_moment();
void log_news(const std::string& news);
// Requires: an InterruptGuard, which knows why.
void log_stop(std::size_t jobs);

}  // namespace infold::cli
