// SPDX-License-Identifier: Apache-2.0
//
// One call of one rank, from the request to the result: what every call has, whatever its kind, and
// the place where its handle waits. Its launch (launch/launch.h) has what its kind needs. Calls
// belong to their member and are used again.
//
// The member's fields do not change while the call is in flight. Each struct says who uses it. The
// result has a mutex, for any number of waiting threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infold/result.h>

#include "base/instant.h"
#include "core/worker/worker.h"
#include "rank/calls/failure_text.h"
#include "rank/calls/launch/launch_choice.h"
#include "rank/calls/request.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

class Member;

class Call {
 public:
  Call(Member& member, std::shared_ptr<ScratchPool> pool)
      : launches(std::move(pool)), member_(member) {}

  CallName name;
  base::Instant started;
  base::Instant deadline;
  bool is_checked = false;  // stands for calls that CheckedCalls makes

  LaunchChoice launches;
  Launch* launch = nullptr;  // one of them, once begun
  LaunchOutline outline;

  // Its transfers follow one another; the call is done when none is left. By InFlight's lock.
  struct Transfers {
    core::TransferId first = core::TransferId::none;
    core::TransferId last = core::TransferId::none;
    std::uint32_t left = 0;
    std::uint16_t ranks_summed = 0;
    std::optional<core::Failure> failure;  // of the first that failed
    std::size_t driver = 0;                // one that takes part in the last

    bool any() const { return first != core::TransferId::none; }
    bool has(core::TransferId id) const { return first <= id && id <= last; }
    std::uint32_t number_of(core::TransferId id) const {
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) -
                                        static_cast<std::uint64_t>(first));
    }
    core::TransferId id_of(std::uint32_t number) const {
      return core::TransferId{static_cast<std::uint64_t>(first) + number};
    }
    void add(core::TransferId id) {
      if (!any()) first = id;
      last = id;
      ++left;
    }
    void end_one(const core::Event& event) {
      if (event.failure && !failure) failure = event.failure;
      ranks_summed = std::max(ranks_summed, event.ranks_summed);
      --left;
    }
  };
  Transfers transfers;

  // Of a call whose layout is automatic (automatic_layout.h).
  struct LayoutTurn {
    // Stays when the call is made again.
    std::optional<sparse::LayoutChoice::Choice> choice;
    bool begins_alone = false;
    base::Instant launched;
  };
  LayoutTurn layout;

  // The rejoiner's, which has a lock for the last two.
  struct Again {
    CallRequest request;
    std::vector<MutableTensorView> list;  // the request's own, which its caller may drop
    bool is_kept = false;
    std::uint64_t order = 0;
  };
  Again again;

  // Makes a finished call a new one.
  void reset();
  // Makes one that has failed ready to be made again.
  void start_over();
  // Gives back what its launch has staged.
  void clear_launch();
  void finish(Result<Completion> result);

  bool done() const;
  // Empty: not done at that time.
  std::optional<Result<Completion>> wait_until(std::chrono::steady_clock::time_point time) const;
  Result<Completion> wait() const;

  Member& member() const { return member_; }

 private:
  Member& member_;
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::optional<Result<Completion>> result_;
};

}  // namespace infold::rank
