// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a Communicator: one rank's membership of a job. Checks arguments, chooses
// formats, submits transfers to the worker, and turns its events into results. Results are staged
// in scratch memory and copied on success, so that a failed call changes nothing.
//
// Three locks, taken in this order: calls_mutex_ gives calls their order, the driver's lock guards
// the worker and the list of active calls, pool_mutex_ guards what is kept for reuse.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/handle.h>
#include <infold/options.h>
#include <infold/tensor.h>

#include "codec/format_choice.h"
#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "rank/calls/call.h"
#include "rank/calls/request.h"
#include "rank/calls/scratch_pool.h"
#include "rank/checked_calls.h"
#include "rank/membership.h"
#include "rank/rejoiner.h"
#include "rank/worker_driver.h"

namespace infold::rank {

using codec::FormatChoice;

// See Statistics and Communicator::interface().
struct Paths {
  std::string interface = {};
  std::uint32_t ranks_in_memory = 0;
  std::uint32_t parties_on_network = 0;
};

struct MemberOptions {
  core::WorkerOptions worker;
  WireFormat wire = WireFormat::automatic;
  std::chrono::nanoseconds deadline{};
  std::shared_ptr<Membership> membership;    // kept until the member has left the job
  std::vector<std::string> site_names = {};  // for errors; may be empty
  Paths paths = {};
  bool verify = false;  // see JoinOptions
  Rejoin rejoin = {};   // empty: the job's first end is its last
};

// Why the ranks cannot join their sets of blocks (R-076), as in "the site at 10.0.0.1:7700 does not
// sum i32". Empty: they can. The same at all ranks but for the name.
std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names);

class Member final : public EventSink, public std::enable_shared_from_this<Member> {
 public:
  // Throws std::system_error when no thread can be had.
  Member(MemberOptions options, std::unique_ptr<io::Endpoint> endpoint);
  ~Member() override;

  // A refused request gives a handle too, one that has failed.
  Handle start(const CallRequest& request);
  // The same at once and unchecked, under a name that a call has already.
  Handle begin(const CallRequest& request, CallName name);
  void leave();

  int rank() const { return options_.worker.rank; }
  int world() const { return options_.worker.world; }
  Statistics statistics();
  // See Communicator.
  std::optional<Error> failure();
  const std::string& interface() const { return options_.paths.interface; }
  io::EndpointCounters endpoint_counters() { return driver_->endpoint_counters(); }

  // Whoever holds the job's connections has lost a rank, or an aggregator.
  void lose_rank(std::uint32_t rank);
  // `lost_switch`, if not empty, is the address of the one behind it that is gone.
  void lose_site(std::uint8_t site, const std::string& lost_switch = {});

  // The job is over at another rank, which has left.
  void hear_end(const core::Abort& abort);

  // For the rejoiner.
  void end_membership();
  void resume(Reentry entry);
  void fail_kept(Call& call, const std::string& why);

  // For handles.
  void cancel(const Call& call);
  // Drives the job on this thread until the call is done or the time has come, unless another
  // thread does.
  void drive_until(const Call& call, base::Instant deadline);
  void recycle(Call& call);
  Error pending_error(const Call& call, std::chrono::nanoseconds waited);

 private:
  struct Finished {
    Call* call;  // null for an event that finishes none
    base::Instant at;
  };

  // Of a call in steps that need one another.
  struct StepDone {
    Call* call;
    std::uint32_t step;
  };

  void take(base::Instant now, const core::Event& event) override;
  void settle() override;

  Handle begin_in_turn(const CallRequest& request, CallName name);
  void launch_or_refuse(Call& call, const CallRequest& request);
  std::optional<core::Failure> worker_failure();
  bool has_lost_site();
  Call& acquire_call();
  std::optional<Error> launch(Call& call, const CallRequest& request);
  std::optional<Error> launch_whole(Call& call, const CallRequest& request,
                                    const FormatChoice& choice);
  std::optional<Error> launch_parts(Call& call, const CallRequest& request,
                                    const FormatChoice& choice);
  std::optional<Error> launch_list(Call& call, const CallRequest& request,
                                   const FormatChoice& choice);
  template <typename TransferAt>
  std::optional<Error> submit_all(Call& call, std::size_t count, TransferAt&& transfer_at);
  std::optional<Error> launch_blocks(Call& call, const CallRequest& request,
                                     const FormatChoice& choice);
  std::optional<Error> launch_rows(Call& call, const CallRequest& request,
                                   const FormatChoice& choice);
  std::optional<Error> begin_block_sum(Call& call, const sparse::BlockSum::Work& work);
  base::Result<void> submit_blocks(Call& call);
  void begin_next_step(Call& call, std::uint32_t done);
  static bool leaves_layout_open(const CallRequest& request, const FormatChoice& choice);
  std::optional<Error> choose_layout(Call& call, const CallRequest& request,
                                     const FormatChoice& choice);
  std::optional<Error> refuse_sparse(const CallRequest& request, const FormatChoice& choice) const;
  core::TransferRequest opinions_request(Call& call) const;
  void note_outcome(const Call& call);
  core::TransferRequest blank_transfer(const Call& call, const CallRequest& request,
                                       const FormatChoice& choice) const;
  core::TransferRequest transfer_of(Call& call, const CallRequest& request,
                                    const FormatChoice& choice);
  base::Result<core::TransferId> submit(core::TransferRequest& request, Call* call);
  // A call that finds the worker's tables full waits until some transfer has ended; those in flight
  // have deadlines, so that is bounded.
  template <typename Submit>
  auto submit_when_there_is_room(Submit&& submit) {
    for (;;) {
      std::unique_lock pool(pool_mutex_);
      const std::uint64_t ended = transfers_ended_;
      pool.unlock();
      auto result = driver_->with_worker(submit);
      if (result || result.error().code != base::Code::resource_exhausted) return result;
      pool.lock();
      transfer_ended_.wait(pool, [&] { return transfers_ended_ != ended; });
    }
  }
  void note_submitted(Call& call, core::TransferId id);
  void refuse(Call& call, Error error);
  void finish(Call& call, Result<Completion> result);
  void give_back_staging(Call& call);
  void conclude(Call& call, base::Instant now);
  Error job_over_error(const Call& call);
  // Requires: pool_mutex_ is held while the answer is in use.
  FailedCall failed_call(const Call& call, base::Instant now) const;
  std::optional<Error> deliver(Call& call);
  void deliver_rows(Call& call);

  MemberOptions options_;
  std::mutex calls_mutex_;
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> calls_sparse_{0};
  std::string sparse_obstacle_;  // by calls_mutex_; see find_sparse_obstacle()

  std::vector<Call*> active_;         // by the driver's lock
  std::vector<Finished> finished_;    // by the driver's thread
  std::vector<StepDone> steps_done_;  // likewise

  std::mutex pool_mutex_;
  std::condition_variable transfer_ended_;
  std::uint64_t transfers_ended_ = 0;
  sparse::LayoutChoice layout_choice_;
  std::deque<Call> all_calls_;
  std::vector<Call*> free_calls_;
  // Shared with results whose memory comes back to it (rows_memory.h).
  std::shared_ptr<ScratchPool> scratch_ = std::make_shared<ScratchPool>();
  std::string end_reason_;   // of the job; empty while it lives
  std::string lost_switch_;  // its address, if it was not one of the sites

  std::optional<WorkerDriver> driver_;   // its thread uses all of the above
  std::optional<Rejoiner> rejoiner_;     // its thread uses the driver, too
  std::optional<CheckedCalls> checked_;  // likewise
};

}  // namespace infold::rank
