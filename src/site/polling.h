// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a thread that waits for a short answer polls again or sleeps. To sleep and be
// woken takes longer than the answer to a small tensor. A polling thread lets all others run
// between two polls, so polling costs little when there is other work.
//
// The time limit of polling adapts, as hypervisors do for idle guests. It doubles after every sleep
// that polling could have replaced. A long wait sets it to 0.
#pragma once

#include <algorithm>
#include <thread>
#include <utility>

#include "base/instant.h"

namespace infold::site {

class Polling {
 public:
  // Nothing has arrived. Returns true to poll again after a yield, false to sleep. The limit adapts
  // only to waits that are `short_lived`, as for a small tensor.
  bool looks_again(base::Instant now, bool short_lived) {
    if (!std::exchange(waits_, short_lived) || !short_lived) {
      since_ = now;
      sleeps_ = false;
    }
    sleeps_ = sleeps_ || !short_lived || now - since_ >= limit_;
    return !sleeps_;
  }

  // The same, and also yields, or calls sleep() if polling does not pay.
  template <typename Sleep>
  void wait(base::Instant now, bool short_lived, Sleep&& sleep) {
    if (looks_again(now, short_lived)) {
      std::this_thread::yield();
    } else {
      sleep();
    }
  }

  // Something has arrived.
  void found(base::Instant now) {
    if (!std::exchange(waits_, false)) return;
    if (now - since_ > kMost) {
      limit_ = {};
    } else if (sleeps_) {
      limit_ = std::clamp(limit_ * 2, kLeast, kMost);
    }
  }

 private:
  // The time to sum a few packets when processors are busy. Of 20, 50 and 200 us, the last was
  // best, by a third at 4 KiB.
  static constexpr base::Duration kMost = base::microseconds(200);
  static constexpr base::Duration kLeast = base::microseconds(10);

  base::Duration limit_;  // 0: sleep at once
  base::Instant since_;   // the first poll of this wait
  bool waits_ = false;
  bool sleeps_ = false;
};

}  // namespace infold::site
