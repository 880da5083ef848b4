// SPDX-License-Identifier: Apache-2.0
#include "io/host/log.h"

#include <array>
#include <poll.h>
#include <unistd.h>

#include "io/host/clock.h"

namespace infold::io {
namespace {

std::int64_t unix_ms(base::Instant now) { return (now + wall_clock_offset()).ns / 1'000'000; }

}  // namespace

void Log::set(status::LogOptions options) {
  const base::MutexLock lock(mutex_);
  format_ = options.format;
  level_.store(options.level, std::memory_order_relaxed);
}

void Log::write(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (!takes(level)) return;
  const base::MutexLock lock(mutex_);
  const base::Instant now = monotonic_now();
  tell_left_out_locked(now, false);
  if (rate_.admit(now, kind)) put(level, kind, fields);
}

void Log::tell_left_out(bool all) {
  const base::MutexLock lock(mutex_);
  tell_left_out_locked(monotonic_now(), all);
}

void Log::tell_left_out_locked(base::Instant now, bool all) {
  while (const auto left_out = all ? rate_.take_left_out(now) : rate_.poll_left_out(now)) {
    put(status::LogLevel::warn, "more_of_these",
        {{"kind", left_out->kind},
         {"count", left_out->count},
         {"seconds", left_out->span.ns / 1'000'000'000}});
  }
}

// First writes how many lines were lost before. If that fails, this line is lost as well.
void Log::put(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (lost_ > 0) {
    if (!put_line(status::LogLevel::warn, "log_lines_lost", {{"count", lost_}})) {
      ++lost_;
      return;
    }
    lost_ = 0;
  }
  if (!put_line(level, kind, fields)) ++lost_;
}

// A write may be cut short, which leaves an incomplete line and counts as lost. Pipes and files
// never do that.
bool Log::put_line(status::LogLevel level, std::string_view kind, status::LogFields fields) {
  if (!is_ready()) return false;
  std::array<char, status::kLogLineBytesMax> room;
  const std::size_t bytes =
      status::format_log_line({unix_ms(monotonic_now()), level, kind}, fields, format_, room);
  return ::write(descriptor_, room.data(), bytes) == static_cast<ssize_t>(bytes);
}

// poll() reports that a pipe is ready when it has room for a whole line. The log waits once for a
// reader that has stopped, and not again until the reader has read on. poll() reports a pipe
// without a reader as an error, so the log never calls write(), which would raise SIGPIPE.
bool Log::is_ready() {
  pollfd descriptor = {descriptor_, POLLOUT, 0};
  const int patience_ms = lost_ > 0 ? 0 : static_cast<int>(kLogPatience.ns / 1'000'000);
  return poll(&descriptor, 1, patience_ms) == 1 && descriptor.revents == POLLOUT;
}

Log& process_log() {
  static Log& log = *new Log(STDERR_FILENO);
  return log;
}

}  // namespace infold::io
