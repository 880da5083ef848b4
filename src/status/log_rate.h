// SPDX-License-Identifier: Apache-2.0
//
// Limits how many lines of each kind a log takes, because a stranger who reaches a port can make a
// daemon log, and must not fill its disk. Each window of time has room for kLogLinesPerWindow lines
// of a kind. The next window begins with a report of how many lines were left out. Not thread-safe;
// io/host/log.h locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.h"

namespace infold::status {

// Enough for the joins of 256 ranks to all get their lines. A flood of refusals then writes about 4
// KB a second.
constexpr std::uint32_t kLogLinesPerWindow = 300;
constexpr base::Duration kLogWindow = base::seconds(10);

class LogRate {
 public:
  struct LeftOut {
    std::string_view kind;
    std::uint64_t count = 0;
    base::Duration span{};  // from the window's start until now
  };

  // Returns true if a line of this kind should be written. Requires: `kind` is a literal. Kinds
  // beyond the 63rd share one window.
  bool admit(base::Instant now, std::string_view kind);

  // Returns a kind whose window has passed with lines left out, or nothing.
  std::optional<LeftOut> poll_left_out(base::Instant now);
  // Does the same for windows that have not passed yet, when the log ends.
  std::optional<LeftOut> take_left_out(base::Instant now);

 private:
  struct Window {
    std::string_view kind;
    base::Instant start{};
    std::uint32_t written = 0;
    std::uint64_t left_out = 0;
  };

  Window& find(std::string_view kind);
  std::optional<LeftOut> take_older(base::Instant now, base::Duration age);
  LeftOut close(Window& window, base::Instant now);

  std::array<Window, 64> windows_{};
  std::size_t used_ = 0;
  std::size_t with_left_out_ = 0;  // number of windows; at 0 there is no need to search
};

}  // namespace infold::status
