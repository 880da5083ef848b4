// SPDX-License-Identifier: Apache-2.0
//
// Whether a thread that waits for a short answer looks again at once or sleeps. Falling asleep and
// being woken takes longer than the answer to a small tensor; who looks again lets all others run
// in between, so that it costs the less the more there is to do.
//
// How long it looks adapts, as hypervisors do for idle guests: it doubles with every sleep that was
// short enough to have been spent looking, and a long one ends it.
#pragma once

#include <algorithm>
#include <thread>
#include <utility>

#include "base/instant.h"

namespace infold::site {

class Polling {
 public:
  // There was nothing to read. True: let others run, and look again. False: sleep. Of waits that
  // are `short_lived`, as for a small tensor, and of no others is anything learnt.
  bool looks_again(base::Instant now, bool short_lived) {
    if (!std::exchange(waits_, short_lived) || !short_lived) {
      since_ = now;
      sleeps_ = false;
    }
    sleeps_ = sleeps_ || !short_lived || now - since_ >= limit_;
    return !sleeps_;
  }

  // The same with the waiting: sleep() is called only where looking again does not pay.
  template <typename Sleep>
  void wait(base::Instant now, bool short_lived, Sleep&& sleep) {
    if (looks_again(now, short_lived)) {
      std::this_thread::yield();
    } else {
      sleep();
    }
  }

  // There was something.
  void found(base::Instant now) {
    if (!std::exchange(waits_, false)) return;
    if (now - since_ > kMost) {
      limit_ = {};
    } else if (sleeps_) {
      limit_ = std::clamp(limit_ * 2, kLeast, kMost);
    }
  }

 private:
  // The sum of a few packets, when processors are busy. Of 20, 50 and 200 us the last was best, by
  // a third at 4 KiB.
  static constexpr base::Duration kMost = base::microseconds(200);
  static constexpr base::Duration kLeast = base::microseconds(10);

  base::Duration limit_;  // 0: sleep at once
  base::Instant since_;   // the first look of this wait
  bool waits_ = false;
  bool sleeps_ = false;
};

}  // namespace infold::site
