// SPDX-License-Identifier: Apache-2.0
//
// Joins the job again after a switch was lost, and makes the calls in flight once more. The calls
// are kept meanwhile; a thread joins the job, and the member then makes the calls in their order.
// All ranks must come back with the same calls finished, because a finished call's tensors are the
// program's again.
//
//   present -> away -> present      the rank has joined the job again
//              away -> over         the rank could not, or may not: the kept calls fail
//
// Any thread may call anything; close() is for one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <infold/result.h>

#include "core/worker/worker.h"
#include "rank/calls/call.h"
#include "rank/drivers/driver_set.h"
#include "rank/membership.h"

namespace infold::rank {

class Member;

// Which calls of a rank are finished; the same at all ranks of a job that comes back.
struct CallHistory {
  std::uint64_t finished = 0;  // all calls up to this one
  std::uint64_t digest = 0;    // of those beyond it
};

// What a member needs to take part in a job again.
struct Reentry {
  core::WorkerOptions worker;
  std::vector<DrivenSites> shares;
  std::shared_ptr<Membership> membership;
  // Tells the member of lost ranks and sites, as long as the membership lasts.
  std::function<void(Member&)> watch;
  TellCalls tell = {};
};
// How a member comes back. Without `attempt` it cannot.
struct Rejoin {
  std::function<Result<Reentry>(const CallHistory&, std::chrono::nanoseconds patience)> attempt;
  std::chrono::nanoseconds pause{};  // after one that failed
};

class Rejoiner {
 public:
  // What the rejoiner asks of its member, on a thread of its own.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Leaves the job that has lost a switch.
    virtual void end_membership() = 0;
    // Takes part again, and makes the calls of come_back() once more.
    virtual void resume(Reentry entry) = 0;
    // A call that was kept has failed; `why` ends the message.
    virtual void fail_kept(Call& call, const std::string& why) = 0;
  };

  // Throws std::system_error when no thread can be had.
  Rejoiner(Owner& owner, Rejoin rejoin, std::chrono::nanoseconds patience);
  ~Rejoiner() { close(); }

  // A call begins. true: the job is away, and the call is kept.
  bool add(Call& call, const CallRequest& request);
  // A call has been concluded.
  void remove(Call& call);
  // Keeps a call that met the loss of a switch; false where it has to fail.
  bool keep(Call& call);
  bool keeps(const Call& call);

  // The job has lost a switch.
  void note_lost_switch();
  // For good: the kept calls fail, and why ends the message.
  void give_up(const std::string& why);
  void close();

  // The rank has joined the job again; returns the calls to be made again, in their order.
  std::vector<Call*> come_back();

 private:
  enum class State : std::uint8_t { present, away, over };

  void run();
  std::optional<std::string> join_again();
  CallHistory history() const;
  std::chrono::nanoseconds time_left(base::Instant limit) const;

  Owner& owner_;
  Rejoin rejoin_;
  std::chrono::nanoseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::present;
  std::string why_over_;
  std::vector<Call*> calls_;  // that are not finished, in their order
  std::size_t kept_ = 0;      // of them
  std::uint64_t last_order_ = 0;
  std::thread thread_;  // last, because it uses all of the above
};

}  // namespace infold::rank
