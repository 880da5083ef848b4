// SPDX-License-Identifier: Apache-2.0
//
// A lull is a few milliseconds every two seconds in which a worker keeps only one chunk in flight
// to a site. All workers of all jobs have their lulls at the same time of the wall clock, so that
// queues run empty and each worker measures the path itself. Without lulls, a job that starts while
// another job queues would mistake that queue for the path, and keep the larger share of a link for
// good. If clocks differ, all jobs see the queues of the others, and their shares are still even.
#pragma once

#include <algorithm>
#include <optional>

#include "core/worker/round_trip.h"
#include "core/worker/shortest.h"

namespace infold::core {

class Lull {
 public:
  // The queues of hosts and links empty in this time. Clocks that are set over the network differ
  // only by a fraction of it.
  static constexpr base::Duration kLeast = base::milliseconds(8);
  // With this period, lulls cost a busy sender 0.4 % of its time.
  static constexpr base::Duration kPeriod = base::seconds(2);

  // Returns whether a lull is going on. Requires: `now` never goes back. `wall_clock_offset` is the
  // wall clock's time minus `now`.
  bool covers(base::Instant now, base::Duration wall_clock_offset, RoundTrip& path) {
    if (!next_) return plan_next(now, wall_clock_offset, path);
    if (now < *next_) return false;
    if (!lasts_) begin(now, path);
    if (now < until_) return true;
    if (shortest_) path.restart_least(*shortest_);
    return plan_next(now, wall_clock_offset, path);
  }

  // Takes the round-trip time of a chunk that was alone in flight.
  void on_sample(base::Duration sample) { shortest_.add(sample); }

 private:
  // A lull takes at most 1 / kShareMax of the time. If round trips are long, the period is doubled,
  // once or several times.
  static constexpr std::int64_t kShareMax = 64;

  // The chunks in flight come back within one round trip, and a chunk alone within another.
  static base::Duration length(const RoundTrip& path) { return std::max(kLeast, path.mean() * 2); }

  void begin(base::Instant now, const RoundTrip& path) {
    lasts_ = true;
    shortest_.clear();
    until_ = now + length(path);
  }

  // Sets the time of the next lull and returns false, because there is no lull now.
  bool plan_next(base::Instant now, base::Duration wall_clock_offset, const RoundTrip& path) {
    base::Duration period = kPeriod;
    while (length(path) * kShareMax > period) period = period * 2;
    const base::Duration into_period = {(now.ns + wall_clock_offset.ns) % period.ns};
    next_ = now + (period - into_period);
    lasts_ = false;
    return false;
  }

  std::optional<base::Instant> next_;  // none until the first call
  base::Instant until_;
  bool lasts_ = false;
  Shortest shortest_;
};

}  // namespace infold::core
