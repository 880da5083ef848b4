// SPDX-License-Identifier: Apache-2.0
//
// Shows a command's progress on stderr. On a terminal it is one line that changes in place.
// Elsewhere every report stays, so there are fewer of them: the first one, one for each part of the
// work, and one every half minute. Used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <unistd.h>

#include "cli/line/output.h"

namespace infold::cli {

class ProgressLine {
 public:
  // `parts` is the number of reports from start to end if there is no terminal.
  ProgressLine(Output& output, std::uint64_t steps, std::uint64_t parts,
               bool live = isatty(STDERR_FILENO) != 0)
      : output_(output), steps_(steps), parts_(parts), live_(live) {}

  // Returns true if this step was shown. The last step is always shown.
  bool show(std::uint64_t step, std::string_view text) {
    const bool last = step >= steps_;
    if (!live_ && !last && !is_due(step)) return false;
    output_.log("{}{}{}", live_ ? "\r\x1b[K" : "", text, live_ && !last ? "" : "\n");
    open_ = live_ && !last;
    return true;
  }
  // Removes the line from a terminal.
  void clear() {
    if (open_) output_.log("\r\x1b[K");
    open_ = false;
  }
  // Leaves the cursor on a line of its own.
  void end() {
    if (open_) output_.log("\n");
    open_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due(std::uint64_t step) {
    const std::uint64_t part = steps_ == 0 ? 0 : step * parts_ / steps_;
    const Clock::time_point now = Clock::now();
    if (has_shown_ && part == part_ && now - shown_ < std::chrono::seconds(30)) return false;
    has_shown_ = true;
    part_ = part;
    shown_ = now;
    return true;
  }

  Output& output_;
  std::uint64_t steps_;
  std::uint64_t parts_;
  bool live_;
  bool open_ = false;
  bool has_shown_ = false;
  std::uint64_t part_ = 0;
  Clock::time_point shown_;
};

// Shows a count on a terminal, such as "40 of 900 calls compared", a few times a second. Prints
// nothing elsewhere. Used by one thread.
class CountLine {
 public:
  CountLine(Output& output, bool is_shown)
      : is_shown_(is_shown && isatty(STDERR_FILENO) != 0), line_(output, 1, 1, true) {}
  ~CountLine() { clear(); }
  CountLine(const CountLine&) = delete;
  CountLine& operator=(const CountLine&) = delete;

  void show(std::uint64_t count, std::uint64_t all, std::string_view what) {
    const Clock::time_point now = Clock::now();
    if (!is_shown_ || now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    line_.show(0, fmt::format("{} of {} {}", count, all, what));
  }
  void clear() { line_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_shown_;
  ProgressLine line_;
  Clock::time_point shown_;
};

}  // namespace infold::cli
