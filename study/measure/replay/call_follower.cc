// SPDX-License-Identifier: Apache-2.0
#include "study/measure/replay/call_follower.h"

#include <utility>

namespace infold::measure {

void EndBell::ring() {
  const base::MutexLock lock(mutex_);
  has_rung_ = true;
  rung_.notify_one();
}

void EndBell::wait_until(Time time, const std::stop_token& stop) {
  base::MutexLock lock(mutex_);
  rung_.wait_until(lock, stop, time, [this]() REQUIRES(mutex_) { return has_rung_; });
  has_rung_ = false;
}

CallFollower::CallFollower(EndBell& bell)
    : bell_(bell), thread_([this](const std::stop_token& stop) { run(stop); }) {}

CallFollower::~CallFollower() = default;

void CallFollower::follow(std::shared_ptr<Handle> call) {
  const base::MutexLock lock(mutex_);
  calls_.push_back(std::move(call));
  changed_.notify_one();
}

void CallFollower::run(const std::stop_token& stop) {
  for (;;) {
    std::shared_ptr<Handle> call;
    {
      base::MutexLock lock(mutex_);
      if (!changed_.wait(lock, stop, [this]() REQUIRES(mutex_) { return !calls_.empty(); })) return;
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    static_cast<void>(call->wait());
    bell_.ring();
  }
}

}  // namespace infold::measure
