// SPDX-License-Identifier: Apache-2.0
//
// The calls in flight: gives the worker the transfers of each call's launch, and turns the worker's
// events into sizes of later transfers and ends of calls. Knows nothing of kinds of calls.
//
// submit() is for one thread at a time, in the order of calls; any thread may call the rest.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infold/result.h>

#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "rank/calls/call.h"
#include "rank/worker_driver.h"

namespace infold::rank {

class InFlight final : public EventSink {
 public:
  // All transfers of a call have ended, well or not. On the thread that drives, without locks.
  using Conclude = std::function<void(Call& call, base::Instant now)>;

  // Throws std::system_error when no thread can be had.
  InFlight(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint,
           Conclude conclude);

  WorkerDriver& driver() { return driver_; }

  // Submits what call.launch has begun. A call that finds the worker's tables full waits until some
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
    std::uint32_t after;  // this transfer of the call, which is done
  };

  void take(base::Instant now, const core::Event& event) override;
  void settle() override;

  template <typename Submit>
  base::Result<void> when_there_is_room(Submit&& submit);
  base::Result<void> submit_one(core::Worker& worker, base::Instant now, Call& call,
                                std::uint32_t number);
  base::Result<void> submit_together(Call& call);
  base::Result<void> submit_one_by_one(Call& call);
  void give_size(const SizeDue& due);
  void drop(const Call& call);

  Conclude conclude_;
  std::vector<Call*> active_;       // by the driver's lock
  std::vector<Finished> finished_;  // by the driver's thread
  std::vector<SizeDue> sizes_due_;  // likewise
  std::mutex ended_mutex_;
  std::condition_variable some_ended_;
  std::uint64_t ended_ = 0;
  WorkerDriver driver_;  // its thread uses all of the above
};

}  // namespace infold::rank
