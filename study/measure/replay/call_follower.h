// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for a group's calls in their order, as a training's own threads do, and rings
// a bell at the end of each. Waiting for several calls with short Handle::wait_for() pieces would
// be wrong, because each piece takes a lock of the data path. One thread uses the constructor and
// follow().
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>

#include <infold/handle.h>

#include "base/mutex.h"

namespace infold::measure {

// Counts the calls that have ended, and wakes the thread that waits for one.
class EndBell {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void ring();
  // Waits until the bell has rung since the last wait, the time has come, or a stop is requested.
  void wait_until(Time time, const std::stop_token& stop);

 private:
  base::Mutex mutex_;
  base::StopConditionVariable rung_;
  bool has_rung_ GUARDED_BY(mutex_) = false;
};

class CallFollower {
 public:
  // Borrows the bell.
  explicit CallFollower(EndBell& bell);
  // Waits for the calls that it follows. To end soon, cancel them first.
  ~CallFollower();

  void follow(std::shared_ptr<Handle> call);

 private:
  void run(const std::stop_token& stop);

  EndBell& bell_;
  base::Mutex mutex_;
  base::StopConditionVariable changed_;
  std::deque<std::shared_ptr<Handle>> calls_ GUARDED_BY(mutex_);
  std::jthread thread_;  // the last member, because it uses the others
};

}  // namespace infold::measure
