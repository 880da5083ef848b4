// SPDX-License-Identifier: Apache-2.0
//
// How many lines of a kind a log takes. Whoever reaches a port can make a daemon say something, and
// must not fill its disk: of each kind, a window of time has room for so many lines, and the next
// window begins by telling how many were left out. Not for threads; io/host/log.h locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.h"

namespace infold::status {

// A join of 256 ranks is told whole; a flood of refusals writes some 4 KB a second.
constexpr std::uint32_t kLogLinesPerWindow = 300;
constexpr base::Duration kLogWindow = base::seconds(10);

class LogRate {
 public:
  struct LeftOut {
    std::string_view kind;
    std::uint64_t count = 0;
    base::Duration span{};  // from the window's start until now
  };

  // Whether a line of this kind is written. Requires: `kind` is a literal. Kinds beyond the 64th
  // share one window.
  bool admit(base::Instant now, std::string_view kind);

  // A kind whose window has passed with lines left out; empty when there is none, or no more.
  std::optional<LeftOut> poll_left_out(base::Instant now);
  // The same for windows that have not passed, at a log's end.
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
  std::size_t with_left_out_ = 0;  // so that a quiet log looks at nothing
};

}  // namespace infold::status
