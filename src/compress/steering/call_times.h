// SPDX-License-Identifier: Apache-2.0
//
// The times of one compressed call and what it kept, and how ranks agree on them: by taking the
// maxima of a few floats.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

namespace infold::compress {

struct CallTimes {
  // All times are in seconds. The last rank to reach a collective does not wait for any other rank,
  // so the least time over all ranks is the network's time. All ranks wait for the slowest codec,
  // so the greatest time counts there.
  float collectives = 0;
  float codec = 0;
  // How much of the call's time is hidden by the caller's own work. The greatest value counts,
  // because the slowest rank sets the pace.
  float hidden = 0;
  // From the start of the call to the start of the next call of the same parameters; 0: unknown.
  // The greatest value counts.
  float period = 0;
  // The share of the tensors' energy that the codes kept, 0 to 1 (kept_share.h). The least one that
  // is known counts.
  float kept = kKeptUnknown;

  static constexpr float kKeptUnknown = 2;

  friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

using TimesMaxima = std::array<float, 5>;

// About a day, which is longer than any deadline.
constexpr float kCallSecondsMax = 1e5F;
// Shorter times are noise of the clock. This minimum is above zero so that quotients are finite.
constexpr float kCallSecondsMin = 1e-6F;

inline float call_seconds(std::int64_t ns) {
  return std::clamp(static_cast<float>(ns) * 1e-9F, 0.0F, kCallSecondsMax);
}

// Returns what a rank sends. A rank without times sends values that make the agreed times unknown.
inline TimesMaxima to_maxima(const std::optional<CallTimes>& own) {
  if (!own) return {1, 0, 0, 0, -CallTimes::kKeptUnknown};
  return {-own->collectives, own->codec, own->hidden, own->period, -own->kept};
}

// Other ranks contribute to the maxima, so they are not trusted. Returns nothing if a rank had no
// times, or if a value cannot be a time or a share.
inline std::optional<CallTimes> from_maxima(std::span<const float, 5> maxima) {
  CallTimes times{-maxima[0], maxima[1], maxima[2], maxima[3], -maxima[4]};
  for (const float each : {times.collectives, times.codec, times.hidden, times.period}) {
    if (!(each >= 0 && each <= kCallSecondsMax)) return std::nullopt;
  }
  const bool is_known = times.kept >= 0 && times.kept <= 1;
  if (!is_known && times.kept != CallTimes::kKeptUnknown) return std::nullopt;
  times.collectives = std::max(times.collectives, kCallSecondsMin);
  return times;
}

}  // namespace infold::compress
