// SPDX-License-Identifier: Apache-2.0
#include "join/alarm.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include <grpc/support/time.h>

namespace infold::join {
namespace {

// One thread writes it and another uses it. The atomic orders the two, because ThreadSanitizer does
// not see gRPC's own synchronisation.
struct Action {
  std::function<void()> call;
  std::atomic<bool> is_written = false;
};

}  // namespace

void Alarm::set(std::chrono::nanoseconds in, std::function<void()> action) {
  const gpr_timespec at =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_nanos(std::max<std::int64_t>(in.count(), 0), GPR_TIMESPAN));
  auto* const what = new Action{std::move(action), {}};  // gRPC calls back exactly once
  what->is_written.store(true, std::memory_order_release);
  alarm_.emplace();
  alarm_->Set(at, [what](bool rings) {
    static_cast<void>(what->is_written.load(std::memory_order_acquire));
    const std::unique_ptr<Action> owned(what);
    if (rings) owned->call();
  });
}

}  // namespace infold::join
