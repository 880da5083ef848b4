// SPDX-License-Identifier: Apache-2.0
//
// The calls in flight: gives the drivers' workers the transfers of each call's launch, and turns
// the workers' events into sizes of later transfers and ends of calls. Knows nothing of kinds of
// calls.
//
// submit() is for one thread at a time, in the order of calls; any thread may call the rest. Locks,
// in this order: mutex_ guards calls and their transfers, each driver's lock its worker. A driver
// notes events by its own lock alone, and hands them on without it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infold/result.h>

#include "core/team/joint_transfers.h"
#include "core/worker/worker.h"
#include "rank/calls/call.h"
#include "rank/drivers/driver_set.h"
#include "rank/membership.h"

namespace infold::rank {

class InFlight {
 public:
  // All transfers of a call have ended, well or not. On a thread that drives, without locks.
  using Conclude = std::function<void(Call& call, base::Instant now)>;

  // Throws std::system_error when no thread can be had.
  InFlight(const core::WorkerOptions& options, std::vector<DrivenSites> shares, Conclude conclude,
           TellCalls tell = {});
  ~InFlight();

  DriverSet& drivers() { return *drivers_; }

  // Submits what call.launch has begun. A call that finds the workers' tables full waits until some
  // transfer has ended; those in flight have deadlines, so that is bounded. An error: nothing of
  // the call is in flight. Otherwise the call will be concluded.
  std::optional<Error> submit(Call& call);

  struct State {
    bool is_over = false;  // the job has ended
    bool is_idle = false;  // no call is in flight
  };
  State state();
  // Ends the job if the call is in flight, or if `in_any_case`.
  void cancel(const Call& call, bool in_any_case);
  // Drives a driver of the call until it is done or the time has come, unless another caller does.
  void drive_until(const Call& call, base::Instant deadline);
  core::RankRanges waiting_for(const Call& call);
  // For a new job. Requires: the old one has ended, and all its calls are concluded.
  void restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
               TellCalls tell = {});

  // How many transfers have ended.
  std::uint64_t ended();
  // Waits until there are more than that.
  void wait_for_end_after(std::uint64_t ended);

 private:
  struct Finished {
    Call* call;  // null for an event that finishes none
    base::Instant at;
  };
  struct SizeDue {
    Call* call;
    std::uint32_t after;        // this transfer of the call, which is done
    core::TransferId transfer;  // gets the size
  };

  // What one driver has to say.
  class Events final : public EventSink {
   public:
    Events(InFlight& owner, std::size_t driver, std::uint32_t transfers_max);
    void take(base::Instant now, const core::Event& event) override;
    void take_end(const core::Failure& failure, const core::Abort& said) override;
    void settle() override;

   private:
    friend class InFlight;
    struct Noted {
      base::Instant at;
      core::Event event;
    };
    struct End {
      core::Failure failure;
      core::Abort said;
    };

    InFlight& owner_;
    const std::size_t driver_;
    std::vector<Noted> noted_;
    std::optional<End> end_;
    // What follows from them.
    std::vector<Finished> finished_;
    std::vector<SizeDue> sizes_due_;
    std::vector<core::TransferId> released_;
  };

  // A transfer that is being submitted.
  struct Submission {
    core::TransferRequest request;
    core::TransferId id = core::TransferId::none;
    std::uint32_t takers = 0;
  };

  void settle(Events& events);
  void spread_end(const Events& events);
  void take(Events& events, const Events::Noted& noted);

  template <typename Submit>
  base::Result<void> when_there_is_room(Submit&& submit);
  base::Result<void> submit_some(Call& call, std::uint32_t first, std::uint32_t count);
  base::Result<void> check_room(std::uint32_t transfers);
  base::Result<void> submit_at(std::size_t driver, Call& call, std::uint32_t first,
                               std::uint32_t count);
  void note_submitted(Call& call);
  base::Result<void> submit_one_by_one(Call& call);
  void cancel_all();
  void give_size(const SizeDue& due);
  void tell_of(const Submission& submission) const;
  void drop(const Call& call);

  Conclude conclude_;
  std::mutex mutex_;
  TellCalls tell_;
  std::vector<Call*> active_;
  std::vector<Submission> submissions_;
  std::optional<core::JointTransfers> joint_;  // of several drivers
  const std::uint32_t transfers_max_;
  std::mutex ended_mutex_;
  std::condition_variable some_ended_;
  std::uint64_t ended_ = 0;
  std::vector<std::unique_ptr<Events>> events_;  // of each driver
  std::optional<DriverSet> drivers_;             // its threads use all of the above
};

}  // namespace infold::rank
