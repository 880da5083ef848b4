// SPDX-License-Identifier: Apache-2.0
//
// A thread that waits for a group's calls in their order, as a training's own threads do, and rings
// a bell at the end of each. Handle::wait_for() in short pieces is no way to wait for several
// calls: each piece takes a lock of the data path. The constructor and follow() are for one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include <infold/handle.h>

namespace infold::lab {

// Counts the calls that have ended, and wakes the thread that waits for one.
class EndBell {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void ring();
  // Waits until a ring since the last wait, the time, or a stop request.
  void wait_until(Time time, const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any rung_;
  bool has_rung_ = false;
};

class CallFollower {
 public:
  // Borrows the bell.
  explicit CallFollower(EndBell& bell);
  // Waits for the calls that it follows. Cancel them first to end soon.
  ~CallFollower();

  void follow(std::shared_ptr<Handle> call);

 private:
  void run(const std::stop_token& stop);

  EndBell& bell_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Handle>> calls_;
  std::jthread thread_;  // the last member, because it uses the others
};

}  // namespace infold::lab
