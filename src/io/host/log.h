// SPDX-License-Identifier: Apache-2.0
//
// The log of a daemon or a rank, which writes one line for each event to stderr. Any thread may
// write. A thread waits at most kLogPatience for a reader that has stopped. Lines that find no room
// are counted, and a later line tells their number. Writing never fails and never throws.
//
//   io::log(status::LogLevel::info, "rank_joined", {{"job", name}, {"rank", rank}});
//
// A kind is a literal that names what happened. Each kind has a rate limit of its own. A value may
// hold any bytes. The process has one log, which writes errors and warnings unless set_log() sets
// another level.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/instant.h"
#include "base/mutex.h"
#include "status/log_line.h"
#include "status/log_rate.h"

namespace infold::io {

constexpr base::Duration kLogPatience = base::milliseconds(20);

class Log {
 public:
  // Borrows the descriptor, which must stay open as long as the log.
  explicit Log(int descriptor) : descriptor_(descriptor) {}

  void set(status::LogOptions options);
  // Whether lines of this level are written. Ask first to skip the work of preparing a line; it
  // costs one relaxed load.
  bool takes(status::LogLevel level) const {
    return level <= level_.load(std::memory_order_relaxed);
  }
  void write(status::LogLevel level, std::string_view kind, status::LogFields fields);
  // Writes how many lines the rate limit has left out in periods that are over, and with `all` also
  // in the current period.
  void tell_left_out(bool all);

 private:
  void tell_left_out_locked(base::Instant now, bool all) REQUIRES(mutex_);
  void put(status::LogLevel level, std::string_view kind, status::LogFields fields)
      REQUIRES(mutex_);
  bool put_line(status::LogLevel level, std::string_view kind, status::LogFields fields)
      REQUIRES(mutex_);
  bool is_ready() REQUIRES(mutex_);

  const int descriptor_;
  std::atomic<status::LogLevel> level_ = status::LogLevel::warn;
  base::Mutex mutex_;
  status::LogFormat format_ GUARDED_BY(mutex_) = status::LogFormat::text;
  status::LogRate rate_ GUARDED_BY(mutex_);
  std::uint64_t lost_ GUARDED_BY(mutex_) = 0;  // lines lost since the reader stopped
};

// The log of the process, on stderr. It is never destroyed.
Log& process_log();

inline void set_log(status::LogOptions options) { process_log().set(options); }

inline void log(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (process_log().takes(level)) process_log().write(level, kind, fields);
}

}  // namespace infold::io
