// SPDX-License-Identifier: Apache-2.0
//
// The log of a daemon or a rank: one line for each event, on stderr. Any thread may write. A thread
// waits at most kLogPatience for a reader that has stopped. Lines that then find no room are
// counted, and a later line tells their number. Writing never fails and never throws.
//
//   io::log(status::LogLevel::info, "rank_joined", {{"job", name}, {"rank", rank}});
//
// A kind is a literal and names what happened. The rate is limited for each kind. A value may hold
// any bytes. The process has one log. It writes errors and warnings, unless set_log() sets another
// level.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "base/instant.h"
#include "status/log_line.h"
#include "status/log_rate.h"

namespace infold::io {

constexpr base::Duration kLogPatience = base::milliseconds(20);

class Log {
 public:
  // Borrows the descriptor.
  explicit Log(int descriptor) : descriptor_(descriptor) {}

  void set(status::LogOptions options);
  // To skip the work for a line that is not written. Costs one relaxed load.
  bool takes(status::LogLevel level) const {
    return level <= level_.load(std::memory_order_relaxed);
  }
  void write(status::LogLevel level, std::string_view kind, status::LogFields fields);
  // Writes how many lines the rate limit has left out. With `all`, also those of the current
  // period.
  void tell_left_out(bool all);

 private:
  void tell_left_out_locked(base::Instant now, bool all);
  void put(status::LogLevel level, std::string_view kind, status::LogFields fields);
  bool put_line(status::LogLevel level, std::string_view kind, status::LogFields fields);
  bool is_ready();

  const int descriptor_;
  std::atomic<status::LogLevel> level_ = status::LogLevel::warn;
  std::mutex mutex_;  // of the members below
  status::LogFormat format_ = status::LogFormat::text;
  status::LogRate rate_;
  std::uint64_t lost_ = 0;  // since the reader stopped
};

// The log of the process, on stderr. It is never destroyed.
Log& process_log();

inline void set_log(status::LogOptions options) { process_log().set(options); }

inline void log(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (process_log().takes(level)) process_log().write(level, kind, fields);
}

}  // namespace infold::io
