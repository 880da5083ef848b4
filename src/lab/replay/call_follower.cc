// SPDX-License-Identifier: Apache-2.0
#include "lab/replay/call_follower.h"

#include <utility>

namespace infold::lab {

void EndBell::ring() {
  const std::lock_guard lock(mutex_);
  has_rung_ = true;
  rung_.notify_one();
}

void EndBell::wait_until(Time time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  rung_.wait_until(lock, stop, time, [this] { return has_rung_; });
  has_rung_ = false;
}

CallFollower::CallFollower(EndBell& bell)
    : bell_(bell), thread_([this](const std::stop_token& stop) { run(stop); }) {}

CallFollower::~CallFollower() = default;

void CallFollower::follow(std::shared_ptr<Handle> call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  changed_.notify_one();
}

void CallFollower::run(const std::stop_token& stop) {
  for (;;) {
    std::shared_ptr<Handle> call;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !calls_.empty(); })) return;
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    static_cast<void>(call->wait());
    bell_.ring();
  }
}

}  // namespace infold::lab
