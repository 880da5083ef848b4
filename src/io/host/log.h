// SPDX-License-Identifier: Apache-2.0
//
// The log: what a daemon or a rank tells whoever runs it, one line for each event, on stderr. Any
// thread may write; none waits longer than kLogPatience for a reader that has stopped, and lines
// that then find no room are counted and told later. Writing never fails and never throws.
//
//   io::log(status::LogLevel::info, "rank_joined", {{"job", name}, {"rank", rank}});
//
// A kind is a literal and names what happened; it is what rates are limited by. A value may hold
// any bytes. The process has one log, which writes errors and warnings until set_log() says
// otherwise.
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
  // For what costs something to find out. One relaxed load.
  bool takes(status::LogLevel level) const {
    return level <= level_.load(std::memory_order_relaxed);
  }
  void write(status::LogLevel level, std::string_view kind, status::LogFields fields);
  // Tells what rates have left out so far; for a quiet moment, and `all` of it for the end.
  void tell_left_out(bool all);

 private:
  void tell_left_out_locked(base::Instant now, bool all);
  void put(status::LogLevel level, std::string_view kind, status::LogFields fields);
  bool put_line(status::LogLevel level, std::string_view kind, status::LogFields fields);
  bool is_ready();

  const int descriptor_;
  std::atomic<status::LogLevel> level_ = status::LogLevel::warn;
  std::mutex mutex_;  // guards what follows
  status::LogFormat format_ = status::LogFormat::text;
  status::LogRate rate_;
  std::uint64_t lost_ = 0;  // since the reader stopped
};

// The process' log, on stderr; it is never destroyed.
Log& process_log();

inline void set_log(status::LogOptions options) { process_log().set(options); }

inline void log(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (process_log().takes(level)) process_log().write(level, kind, fields);
}

}  // namespace infold::io
