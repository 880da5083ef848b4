// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/switch_log.h"

#include "cli/line/build_info.h"
#include "io/host/log.h"
#include "study/desk/interrupt.h"

namespace infold::cli {

using status::LogLevel;

void LogOptions::declare(Options& options) {
  options.choice("--log", format_, {"text", "json"},
                 "Format of the log on stderr, which has a line for each event");
  options.choice("--log-level", level_, {"off", "error", "warn", "info", "debug"},
                 "Log events of this level and more important ones");
}

void LogOptions::apply() const {
  // The parser has checked these choices.
  if (const auto options = status::parse_log_options(level_ + "," + format_)) io::set_log(*options);
}

void log_start(const std::string& listen, const std::string& join_address, const char* plane) {
  io::log(LogLevel::info, "switch_started",
          {{"listen", listen}, {"join", join_address}, {"plane", plane}, {"version", kVersion}});
}

void log_quiet_moment() { io::process_log().tell_left_out(false); }

void log_news(const std::string& news) {
  io::log(LogLevel::warn, "interface_changed", {{"news", news}});
}

void log_stop(std::size_t jobs) {
  const bool asked = desk::InterruptGuard::interrupted();
  io::log(asked ? LogLevel::info : LogLevel::error, "switch_stopping",
          {{"why", asked ? desk::InterruptGuard::signal_name() : "no interface is left"},
           {"jobs", jobs}});
  io::process_log().tell_left_out(true);
}

}  // namespace infold::cli
