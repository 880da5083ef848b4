// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a thread that waits for packets polls again or sleeps. Falling asleep and being
// woken takes longer than the answer for a small tensor. A polling thread yields between two polls,
// so polling costs little when there is other work.
//
// The time limit of polling adapts, as in hypervisors that poll for idle guests. It doubles after
// every sleep that polling could have replaced, and a long wait resets it to 0.
#pragma once

#include <algorithm>
#include <thread>
#include <utility>

#include "base/instant.h"

namespace infold::site {

class Polling {
 public:
  // Call it when nothing has arrived. Returns true to poll again after a yield, false to sleep.
  // `short_lived` says that the answer should come soon, as for a small tensor. Other waits sleep
  // at once, and the limit does not adapt to them.
  bool looks_again(base::Instant now, bool short_lived) {
    if (!std::exchange(waits_, short_lived) || !short_lived) {
      since_ = now;
      sleeps_ = false;
    }
    sleeps_ = sleeps_ || !short_lived || now - since_ >= limit_;
    return !sleeps_;
  }

  // Decides in the same way, and then yields or calls sleep().
  template <typename Sleep>
  void wait(base::Instant now, bool short_lived, Sleep&& sleep) {
    if (looks_again(now, short_lived)) {
      std::this_thread::yield();
    } else {
      sleep();
    }
  }

  // Call it when something has arrived.
  void found(base::Instant now) {
    if (!std::exchange(waits_, false)) return;
    if (now - since_ > kMost) {
      limit_ = {};
    } else if (sleeps_) {
      limit_ = std::clamp(limit_ * 2, kLeast, kMost);
    }
  }

 private:
  // The time to sum a few packets while processors are busy. Measured beside 20 and 50 us, this
  // value was a third faster at 4 KiB.
  static constexpr base::Duration kMost = base::microseconds(200);
  static constexpr base::Duration kLeast = base::microseconds(10);

  base::Duration limit_;  // 0: sleep at once
  base::Instant since_;   // the first poll of this wait
  bool waits_ = false;
  bool sleeps_ = false;
};

}  // namespace infold::site
