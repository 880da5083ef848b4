// SPDX-License-Identifier: Apache-2.0
//
// Waiting for one call.
#include "rank/calls/call.h"

#include <utility>

namespace infold::rank {

void Call::reset() {
  const std::lock_guard lock(mutex_);
  result_.reset();
  name = {};
  started = deadline = {};
  is_checked = again.is_kept = false;
  layout.choice.reset();
  start_over();
}

void Call::start_over() {
  clear_launch();
  outline = {};
  transfers = {};
}

void Call::clear_launch() {
  if (launch != nullptr) launch->clear();
  launch = nullptr;
}

void Call::finish(Result<Completion> result) {
  const std::lock_guard lock(mutex_);
  result_ = std::move(result);
  finished_.notify_all();  // under the lock: the next moment may reuse this object
}

bool Call::done() const {
  const std::lock_guard lock(mutex_);
  return result_.has_value();
}

std::optional<Result<Completion>> Call::wait_until(
    std::chrono::steady_clock::time_point time) const {
  std::unique_lock lock(mutex_);
  finished_.wait_until(lock, time, [this] { return result_.has_value(); });
  return result_;
}

Result<Completion> Call::wait() const {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

}  // namespace infold::rank
