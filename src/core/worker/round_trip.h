// SPDX-License-Identifier: Apache-2.0
//
// Estimates the round-trip time to one site: its smoothed mean and deviation for timeouts (after
// RFC 6298), and the shortest time ever seen, which is that of the path without queues.
#pragma once

#include <algorithm>

#include "base/instant.h"

namespace infold::core {

class RoundTrip {
 public:
  // Long enough for any path that is not known yet, and short enough that a first loss is not felt.
  static constexpr base::Duration kInitialTimeout = base::milliseconds(10);
  // A shorter timeout would only add load, because the scheduling of any host causes such delays.
  static constexpr base::Duration kTimeoutMin = base::microseconds(200);
  static constexpr base::Duration kTimeoutMax = base::seconds(1);

  void add(base::Duration sample) {
    least_ = least_is_measured_ ? std::min(least_, sample) : sample;
    least_is_measured_ = true;
    adapt(sample);
  }

  // Takes a time of which it is not clear which send was answered. It counts for timeouts. It may
  // be shorter or longer than the path itself, so the first sample takes its place as the shortest
  // time.
  void add_unclear(base::Duration estimate) {
    if (!least_is_measured_) least_ = estimate;
    adapt(estimate);
  }

  // Sets the time without queues to a new measurement, because the path may have become longer.
  void restart_least(base::Duration sample) {
    least_ = sample;
    least_is_measured_ = true;
  }

  bool known() const { return known_; }
  base::Duration mean() const { return mean_; }
  base::Duration deviation() const { return deviation_; }
  base::Duration least() const { return least_; }

  // After this time a worker sends a query, which is cheap. It retransmits after twice this time.
  base::Duration timeout() const {
    if (!known_) return kInitialTimeout;
    return std::clamp(mean_ + std::max(mean_ / 2, deviation_ * 4), kTimeoutMin, kTimeoutMax);
  }

 private:
  void adapt(base::Duration sample) {
    if (!known_) {
      mean_ = sample;
      deviation_ = sample / 2;
      known_ = true;
      return;
    }
    const base::Duration error = sample - mean_;
    deviation_ = deviation_ + ((error.ns < 0 ? base::Duration{-error.ns} : error) - deviation_) / 4;
    mean_ = mean_ + error / 8;
  }

  bool known_ = false;
  bool least_is_measured_ = false;
  base::Duration mean_;
  base::Duration deviation_;
  base::Duration least_;
};

}  // namespace infold::core
