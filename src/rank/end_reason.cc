// SPDX-License-Identifier: Apache-2.0
#include "rank/end_reason.h"

#include <utility>

#include "io/host/clock.h"

namespace infold::rank {

void EndReason::set_lost_switch(const std::string& address) {
  const base::MutexLock lock(mutex_);
  lost_switch_ = address;
}

Error EndReason::of_failed(const Call& call, const std::optional<core::Failure>& failure,
                           base::Instant now, const std::string& rest) {
  const base::MutexLock lock(mutex_);
  Error error = {Code::unavailable, call_text(call.name()), -1, ""};
  if (failure) error = describe(*failure, failed_call(call, now));
  error.message += rest;
  return finish(std::move(error));
}

Error EndReason::of_refused(const Call& call, Error error) {
  const base::MutexLock lock(mutex_);
  error.message = call_text(call.name()) + ": " + error.message;
  return finish(std::move(error));
}

Error EndReason::of_late(const Call& call, const std::optional<core::Failure>& failure) {
  const base::MutexLock lock(mutex_);
  if (reason_.empty() && failure) {
    return finish(describe(*failure, failed_call(call, io::monotonic_now())));
  }
  Error error = {Code::aborted,
                 call_text(call.name()) + ": the job had ended before (" + reason_ + ")",
                 failure ? failure->rank : -1, ""};
  error.message += kMakeNewCommunicators;
  return error;
}

Error EndReason::of_job(const core::Failure& failure) {
  const base::MutexLock lock(mutex_);
  Error error =
      describe(failure, {.rank = rank_, .site_names = site_names_, .lost_switch = lost_switch_});
  if (!reason_.empty()) error.message = reason_;
  error.message += kMakeNewCommunicators;
  return error;
}

// The caller must hold the lock as long as it uses the answer, which refers to the lost switch's
// address.
FailedCall EndReason::failed_call(const Call& call, base::Instant now) const {
  return {.name = call.name(),
          .elements = call.launch.outline().elements,
          .composed = call.launch.outline().composed,
          .exchanges = call.launch.outline().exchanges,
          .rank = rank_,
          .elapsed = now - call.started(),
          .site_names = site_names_,
          .lost_switch = lost_switch_};
}

// Keeps the first reason.
Error EndReason::finish(Error error) {
  if (reason_.empty()) reason_ = error.message;
  error.message += kMakeNewCommunicators;
  return error;
}

}  // namespace infold::rank
