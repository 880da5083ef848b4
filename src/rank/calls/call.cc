// SPDX-License-Identifier: Apache-2.0
//
// Waiting for one call.
#include "rank/calls/call.h"

#include <utility>

namespace infold::rank {

void Call::reset() {
  const std::lock_guard lock(mutex_);
  result_.reset();
  description = {};
  is_checked = is_kept = false;
  choice.reset();
  start_over();
}

void Call::start_over() {
  description.elements = 0;
  description.composed = false;
  description.output = nullptr;
  description.output_bytes = 0;
  description.output_rows = nullptr;
  input_survives = true;
  large.clear();
  block_steps = 0;
  rows_result.reset();
  fusion.clear();
  first_transfer = last_transfer = core::TransferId::none;
  transfers_left = 0;
  ranks_summed = 0;
  failure.reset();
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
