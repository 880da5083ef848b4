// SPDX-License-Identifier: Apache-2.0
//
// Keeps the calls in flight. It submits the transfers of each call's launch to the drivers'
// workers. When the workers report events, it gives later transfers their sizes and ends calls. It
// treats all kinds of calls alike.
//
// One thread at a time may call submit(), in the order of calls; any thread may call the rest.
// Locks, in the order in which they are taken: mutex_ guards the calls and their transfers, and
// each driver's lock guards its worker. A driver notes events under its own lock, and hands them on
// without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <infold/result.h>

#include "base/mutex.h"
#include "core/team/joint_transfers.h"
#include "core/worker/worker.h"
#include "rank/call.h"
#include "rank/drivers/call_transfers.h"
#include "rank/drivers/driver_set.h"
#include "rank/membership.h"

namespace infold::rank {

class InFlight {
 public:
  // Called when all transfers of a call have ended, successfully or not. Runs on a thread that
  // drives, without locks.
  using Conclude = std::function<void(Call& call, base::Instant now)>;

  // Throws std::system_error if no thread can be started.
  InFlight(const core::WorkerOptions& options, std::vector<DrivenSites> shares, Conclude conclude,
           TellCalls tell = {});
  ~InFlight();

  DriverSet& drivers() { return *drivers_; }

  // Submits the transfers of call.launch, which has begun. If the workers' tables are full, it
  // waits until a transfer has ended; deadlines bound this wait. After an error, none of the call's
  // transfers is in flight. Otherwise `conclude` will be called for the call.
  std::optional<Error> submit(Call& call);

  struct State {
    bool is_over = false;  // the job has ended
    bool is_idle = false;  // no call is in flight
  };
  State state();
  // Ends the job if the call is in flight, or if `in_any_case`.
  void cancel(const Call& call, bool in_any_case);
  // Drives one of the call's drivers until the call is done or the deadline has passed. Returns at
  // once if another caller drives.
  void drive_until(const Call& call, base::Instant deadline);
  core::RankRanges waiting_for(const Call& call);
  // Prepares for a new job. Requires: the old job has ended, and all its calls are concluded.
  void restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
               TellCalls tell = {});

  // How many transfers have ended.
  std::uint64_t ended();
  // Waits until more than `ended` transfers have ended.
  void wait_for_end_after(std::uint64_t ended);

 private:
  struct Finished {
    Call* call;  // null if the event finishes no call
    base::Instant at;
  };
  struct SizeDue {
    Call* call;
    std::uint32_t after;        // the number of the call's transfer that is done
    core::TransferId transfer;  // the transfer that gets the size
  };

  // The events of one driver.
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
    // The consequences of these events.
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

  CallTransfers& transfers_of(Call& call) REQUIRES(mutex_) { return call.transfers; }
  const CallTransfers& transfers_of(const Call& call) REQUIRES(mutex_) { return call.transfers; }

  void settle(Events& events);
  void spread_end(const Events& events);
  void take(Events& events, const Events::Noted& noted) REQUIRES(mutex_);

  base::Result<void> when_there_is_room(Call& call, std::uint32_t first, std::uint32_t count);
  base::Result<void> submit_some(Call& call, std::uint32_t first, std::uint32_t count)
      REQUIRES(mutex_);
  base::Result<void> check_room(std::uint32_t transfers) REQUIRES(mutex_);
  base::Result<void> submit_at(std::size_t driver, Call& call, std::uint32_t first,
                               std::uint32_t count) REQUIRES(mutex_);
  void note_submitted(Call& call) REQUIRES(mutex_);
  base::Result<void> submit_one_by_one(Call& call);
  void cancel_all() REQUIRES(mutex_);
  void give_size(const SizeDue& due);
  void tell_of(const Submission& submission) const REQUIRES(mutex_);
  void drop(const Call& call) REQUIRES(mutex_);

  Conclude conclude_;
  base::Mutex mutex_;  // also guards the transfers of each call (transfers_of)
  TellCalls tell_ GUARDED_BY(mutex_);
  std::vector<Call*> active_ GUARDED_BY(mutex_);
  std::vector<Submission> submissions_ GUARDED_BY(mutex_);
  std::optional<core::JointTransfers> joint_ GUARDED_BY(mutex_);  // only with several drivers
  const std::uint32_t transfers_max_;
  base::Mutex ended_mutex_;
  base::ConditionVariable some_ended_;
  std::uint64_t ended_ GUARDED_BY(ended_mutex_) = 0;
  std::vector<std::unique_ptr<Events>> events_;  // one for each driver
  std::optional<DriverSet> drivers_;             // its threads use all of the above
};

}  // namespace infold::rank
