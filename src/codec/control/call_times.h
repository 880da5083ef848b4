// SPDX-License-Identifier: Apache-2.0
//
// The times of one compressed call, and how ranks agree about them: as the maxima of a few floats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace infold::codec {

struct CallTimes {
  // In seconds. The rank that comes last to a collective waits for no other rank, so the least of
  // all ranks is the network's time. All ranks wait for the slowest codec.
  float collectives = 0;
  float codec = 0;
  // What the caller's own work hides of the call. The largest, as the slowest rank sets the pace.
  float hidden = 0;

  friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

using TimesMaxima = std::array<float, 3>;

// About a day. No deadline is as long.
constexpr float kCallSecondsMax = 1e5F;
// Shorter times are noise of the clock. Above zero, so that quotients are numbers.
constexpr float kCallSecondsMin = 1e-6F;

// What a rank sends. Without times: what makes the agreed times unknown.
inline TimesMaxima to_maxima(const std::optional<CallTimes>& own) {
  if (!own) return {1, 0, 0};
  return {-own->collectives, own->codec, own->hidden};
}

// Peers made the maxima, so nothing in them is sure. Nothing: a rank knew none, or a value is no
// time.
inline std::optional<CallTimes> from_maxima(std::span<const float, 3> maxima) {
  const CallTimes times{-maxima[0], maxima[1], maxima[2]};
  for (const float each : {times.collectives, times.codec, times.hidden}) {
    if (!(each >= 0 && each <= kCallSecondsMax)) return std::nullopt;
  }
  return CallTimes{std::max(times.collectives, kCallSecondsMin), times.codec, times.hidden};
}

}  // namespace infold::codec
