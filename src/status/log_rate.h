// SPDX-License-Identifier: Apache-2.0
//
// Limits how many lines of each kind a log takes. A stranger who reaches a port can make a daemon
// log, and must not fill its disk. Each window of time has room for kLogLinesPerWindow lines of a
// kind. The next window begins with the number of lines that were left out. Not thread-safe;
// io/host/log.h locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.h"

namespace infold::status {

// The joins of 256 ranks all get their lines. A flood of refusals writes some 4 KB a second.
constexpr std::uint32_t kLogLinesPerWindow = 300;
constexpr base::Duration kLogWindow = base::seconds(10);

class LogRate {
 public:
  struct LeftOut {
    std::string_view kind;
    std::uint64_t count = 0;
    base::Duration span{};  // from the window's start until now
  };

  // Returns true if a line of this kind is to be written. Requires: `kind` is a literal. Kinds
  // beyond the 63rd share one window.
  bool admit(base::Instant now, std::string_view kind);

  // Returns a kind whose window has passed with lines left out, or nothing.
  std::optional<LeftOut> poll_left_out(base::Instant now);
  // As poll_left_out(), for windows that have not passed. For a log's end.
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
  std::size_t with_left_out_ = 0;  // windows; at 0 nothing is searched
};

}  // namespace infold::status
