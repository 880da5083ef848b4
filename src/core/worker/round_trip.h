// SPDX-License-Identifier: Apache-2.0
//
// Round-trip estimation for one site: smoothed mean and deviation for time-outs (after RFC 6298),
// and the least time ever needed, which is the path without queues. Knows nothing of packets.
#pragma once

#include <algorithm>

#include "base/instant.h"

namespace infold::core {

class RoundTrip {
 public:
  // Long enough for any path before it is known, short enough that a first loss is not felt.
  static constexpr base::Duration kInitialTimeout = base::milliseconds(10);
  // Below the scheduling noise of any host, resending sooner only adds load.
  static constexpr base::Duration kTimeoutMin = base::microseconds(200);
  static constexpr base::Duration kTimeoutMax = base::seconds(1);

  void add(base::Duration sample) {
    least_ = known_ ? std::min(least_, sample) : sample;
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

  // What it takes without queues, measured anew: the path may have become longer.
  void restart_least(base::Duration sample) { least_ = sample; }

  bool known() const { return known_; }
  base::Duration mean() const { return mean_; }
  base::Duration deviation() const { return deviation_; }
  base::Duration least() const { return least_; }

  // After this a worker asks, which is cheap; sending again comes at twice this.
  base::Duration timeout() const {
    if (!known_) return kInitialTimeout;
    return std::clamp(mean_ + std::max(mean_ / 2, deviation_ * 4), kTimeoutMin, kTimeoutMax);
  }

 private:
  bool known_ = false;
  base::Duration mean_;
  base::Duration deviation_;
  base::Duration least_;
};

}  // namespace infold::core
