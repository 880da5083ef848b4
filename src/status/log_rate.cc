// SPDX-License-Identifier: Apache-2.0
#include "status/log_rate.h"

#include <span>

namespace infold::status {

bool LogRate::admit(base::Instant now, std::string_view kind) {
  Window& window = find(kind);
  // A window in which lines were left out stays until poll_left_out() has reported them.
  if (window.written > 0 && now - window.start >= kLogWindow && window.left_out == 0) {
    window.written = 0;
  }
  if (window.written == 0) window.start = now;
  if (window.written < kLogLinesPerWindow) {
    ++window.written;
    return true;
  }
  if (window.left_out++ == 0) ++with_left_out_;
  return false;
}

std::optional<LogRate::LeftOut> LogRate::poll_left_out(base::Instant now) {
  return take_older(now, kLogWindow);
}

std::optional<LogRate::LeftOut> LogRate::take_left_out(base::Instant now) {
  return take_older(now, {});
}

std::optional<LogRate::LeftOut> LogRate::take_older(base::Instant now, base::Duration age) {
  if (with_left_out_ == 0) return std::nullopt;
  for (Window& window : std::span(windows_).first(used_)) {
    if (window.left_out > 0 && now - window.start >= age) return close(window, now);
  }
  return std::nullopt;
}

LogRate::Window& LogRate::find(std::string_view kind) {
  for (Window& window : std::span(windows_).first(used_)) {
    if (window.kind == kind) return window;
  }
  if (used_ == windows_.size()) return windows_.back();
  Window& fresh = windows_[used_++];
  fresh.kind = used_ == windows_.size() ? "other" : kind;
  return fresh;
}

LogRate::LeftOut LogRate::close(Window& window, base::Instant now) {
  const LeftOut left_out = {window.kind, window.left_out, now - window.start};
  window.left_out = 0;
  window.written = 0;
  --with_left_out_;
  return left_out;
}

}  // namespace infold::status
