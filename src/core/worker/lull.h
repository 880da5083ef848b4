// SPDX-License-Identifier: Apache-2.0
//
// A moment, some milliseconds every two seconds, in which a worker keeps a single chunk in flight
// to a site. All workers, of all jobs, have their lulls at the same time of the wall clock, so that
// queues run empty and each sees what the path itself takes. Without it a job that comes while
// another queues takes that queue for the path, and keeps the larger share of a link for good.
// Where clocks differ each sees the queues of the others, and they are even all the same.
#pragma once

#include <algorithm>
#include <optional>

#include "core/worker/round_trip.h"
#include "core/worker/shortest.h"

namespace infold::core {

class Lull {
 public:
  // Queues of hosts and links empty in this, and clocks that are set over the network agree to a
  // fraction of it.
  static constexpr base::Duration kLeast = base::milliseconds(8);
  // Of a sender that has much to send it takes 0.4 % then.
  static constexpr base::Duration kPeriod = base::seconds(2);

  // Requires: `now` never goes back. `wall_clock_offset` is the wall clock's time less `now`'s.
  bool covers(base::Instant now, base::Duration wall_clock_offset, RoundTrip& path) {
    if (!next_) return plan_next(now, wall_clock_offset, path);
    if (now < *next_) return false;
    if (!lasts_) begin(now, path);
    if (now < until_) return true;
    if (shortest_) path.restart_least(*shortest_);
    return plan_next(now, wall_clock_offset, path);
  }

  // Of a chunk that was alone in flight.
  void on_sample(base::Duration sample) { shortest_.add(sample); }

 private:
  // Of the time, where round trips are long: then every second one is left out, or more.
  static constexpr std::int64_t kShareMax = 64;

  // What is in flight comes back in one round trip, and a chunk alone in another, at most.
  static base::Duration length(const RoundTrip& path) { return std::max(kLeast, path.mean() * 2); }

  void begin(base::Instant now, const RoundTrip& path) {
    lasts_ = true;
    shortest_.clear();
    until_ = now + length(path);
  }

  // No lull before the first one is due, and none now.
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
