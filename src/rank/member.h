// SPDX-License-Identifier: Apache-2.0
//
// One rank's membership of a job, behind a Communicator. It gives calls their order and their
// deadlines, lets the launch of each call make the call (calls/launch/), and makes the call's
// result from the outcomes of its transfers. A failed call does not change its inputs, except as
// CallOptions::keep_input says. It ends the job, so that later calls fail as well.
//
// In a child that was forked from this process, calls fail and nothing else has an effect. No lock
// is taken there.
//
// Locks, in the order in which they are taken: calls_mutex_ gives calls their order, the lock of
// InFlight guards their transfers, and a driver's lock guards its worker. Every other lock guards a
// single object.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infold/handle.h>
#include <infold/options.h>

#include "base/mutex.h"
#include "core/worker/worker.h"
#include "io/host/own_process.h"
#include "rank/automatic_layout.h"
#include "rank/call.h"
#include "rank/call_pool.h"
#include "rank/calls/request.h"
#include "rank/checked_calls.h"
#include "rank/drivers/in_flight.h"
#include "rank/end_reason.h"
#include "rank/membership.h"
#include "rank/rejoiner.h"

namespace infold::rank {

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
  Rejoin rejoin = {};   // empty: the job is not joined again
  TellCalls tell = {};
};

class Member final : private Rejoiner::Owner, public std::enable_shared_from_this<Member> {
 public:
  // Throws std::system_error if no thread can be started.
  static std::shared_ptr<Member> make(MemberOptions options, std::vector<DrivenSites> shares) {
    return io::owned_by_process(
        std::unique_ptr<Member>(new Member(std::move(options), std::move(shares))));
  }
  ~Member() override;

  // Returns a handle even if the request is refused; the handle's call has then failed.
  Handle start(const CallRequest& request);
  void leave();

  int rank() const { return options_.worker.rank; }
  int world() const { return options_.worker.world; }
  Statistics statistics();
  // See Communicator.
  std::optional<Error> failure();
  const std::string& interface() const { return options_.paths.interface; }
  io::EndpointCounters endpoint_counters();

  // The holder of the job's connections calls these when it has lost a rank or an aggregator.
  void lose_rank(std::uint32_t rank);
  // `lost_switch`, if not empty, is the address of the lost switch behind that site.
  void lose_site(std::uint8_t site, const std::string& lost_switch = {});
  // Tells the member that the job is over at another rank, which has left.
  void hear_end(const core::Abort& abort);

  // These are for handles.
  //
  // The error of every call if this process was forked from the one that joined the job.
  std::optional<Error> refuse_child() const;
  void cancel(const Call& call);
  // Drives the job on this thread until the call is done or the deadline has passed. Returns at
  // once if another thread drives.
  void drive_until(const Call& call, base::Instant deadline);
  void recycle(Call& call) { calls_.recycle(call); }
  Error pending_error(const Call& call, std::chrono::nanoseconds waited);

 private:
  Member(MemberOptions options, std::vector<DrivenSites> shares);

  DriverSet& drivers() { return in_flight_.drivers(); }
  bool has_lost_site();

  Handle handle_of(Call& call);
  // Begins a call under that name, at once and unchecked.
  Handle begin(const CallRequest& request, CallName name);
  Handle begin_in_turn(const CallRequest& request, CallName name) REQUIRES(calls_mutex_);
  void launch_or_refuse(Call& call, const CallRequest& request) REQUIRES(calls_mutex_);
  std::optional<Error> launch(Call& call, const CallRequest& request) REQUIRES(calls_mutex_);

  void conclude(Call& call, base::Instant now);
  Result<Completion> deliver(Call& call);
  void refuse(Call& call, Error error);
  void finish(Call& call, Result<Completion> result);

  void end_membership() override;
  void resume(Reentry entry) override;
  void fail_kept(Call& call, const std::string& why) override;

  const io::OwnProcess process_;
  MemberOptions options_;
  base::Mutex calls_mutex_;
  std::atomic<std::uint64_t> calls_made_{0};
  std::atomic<std::uint64_t> calls_sparse_{0};
  std::string sparse_obstacle_ GUARDED_BY(calls_mutex_);  // see find_sparse_obstacle()
  EndReason end_reason_;
  AutomaticLayout automatic_layout_;
  CallPool calls_;
  Call of_child_{*this, nullptr};        // stands for every call that a forked child makes
  InFlight in_flight_;                   // its threads use all of the above
  std::optional<Rejoiner> rejoiner_;     // its thread also uses in_flight_
  std::optional<CheckedCalls> checked_;  // its thread also uses in_flight_
};

}  // namespace infold::rank
