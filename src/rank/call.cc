// SPDX-License-Identifier: Apache-2.0
//
// Waiting for one call.
#include "rank/call.h"

#include <utility>

namespace infold::rank {

void Call::reset() {
  const base::MutexLock lock(mutex_);
  result_.reset();
  name_ = {};
  times_ = {};
  is_checked_ = false;
  layout = LayoutTurn{};
  start_over();
}

void Call::begin(CallName name, CallTimes times) {
  name_ = name;
  times_ = times;
}

void Call::begin_checked(CallName name) {
  name_ = name;
  is_checked_ = true;
}

void Call::start_over() {
  launch.reset();
  transfers = CallTransfers{};
}

void Call::finish(Result<Completion> result) {
  const base::MutexLock lock(mutex_);
  result_ = std::move(result);
  finished_.notify_all();  // under the lock: another thread may reuse this object right after it
}

bool Call::done() const {
  const base::MutexLock lock(mutex_);
  return result_.has_value();
}

std::optional<Result<Completion>> Call::wait_until(
    std::chrono::steady_clock::time_point time) const {
  base::MutexLock lock(mutex_);
  finished_.wait_until(lock, time, [this]() REQUIRES(mutex_) { return result_.has_value(); });
  return result_;
}

Result<Completion> Call::wait() const {
  base::MutexLock lock(mutex_);
  while (!result_) finished_.wait(lock);
  return *result_;
}

}  // namespace infold::rank
