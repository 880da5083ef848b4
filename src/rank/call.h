// SPDX-License-Identifier: Apache-2.0
//
// One call of one rank, from the request to the result. It holds what calls of all kinds have, and
// its handle waits here. Each object that works on a call keeps its data in a part of the call,
// because a pooled call keeps its memory. A member owns its calls.
//
// The name and the times do not change while the call is in flight. A mutex guards the result, so
// that any number of threads may wait for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <infold/result.h>

#include "base/instant.h"
#include "base/mutex.h"
#include "rank/calls/failure_text.h"
#include "rank/calls/launch/call_launch.h"
#include "rank/drivers/call_transfers.h"
#include "rank/layout_turn.h"
#include "rank/rejoin_record.h"

namespace infold::rank {

class Member;

struct CallTimes {
  base::Instant started;
  base::Instant deadline;
};

class Call {
 public:
  Call(Member& member, std::shared_ptr<ScratchPool> pool)
      : launch(std::move(pool)), member_(member) {}

  // The parts. Each header names the owner of its part, and nobody else can change the fields.
  CallLaunch launch;
  CallTransfers transfers;  // owned by InFlight
  LayoutTurn layout;        // owned by AutomaticLayout
  RejoinRecord rejoin;      // owned by Rejoiner

  // Prepares a finished call for its next use.
  void reset();
  // Requires: the call is new, and no other thread knows of it.
  void begin(CallName name, CallTimes times);
  // The call stands for the calls that CheckedCalls makes under its name. Requires: as begin().
  void begin_checked(CallName name);
  // Prepares a failed call to be made again.
  void start_over();
  void finish(Result<Completion> result);

  bool done() const;
  // Empty if the call is not done at that time.
  std::optional<Result<Completion>> wait_until(std::chrono::steady_clock::time_point time) const;
  Result<Completion> wait() const;

  Member& member() const { return member_; }
  CallName name() const { return name_; }
  base::Instant started() const { return times_.started; }
  base::Instant deadline() const { return times_.deadline; }
  bool is_checked() const { return is_checked_; }

 private:
  Member& member_;
  CallName name_;
  CallTimes times_;
  bool is_checked_ = false;
  mutable base::Mutex mutex_;
  mutable base::ConditionVariable finished_;
  std::optional<Result<Completion>> result_ GUARDED_BY(mutex_);
};

}  // namespace infold::rank
