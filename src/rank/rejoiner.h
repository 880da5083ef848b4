// SPDX-License-Identifier: Apache-2.0
//
// Joins the job again after a switch was lost, and has the calls in flight made once more. It keeps
// these calls meanwhile. A thread joins the job, and the member then makes the calls in their
// order. All ranks must come back with the same calls finished, because the program may already
// have changed the tensors of a finished call.
//
//   present -> away -> present      the rank has joined the job again
//              away -> over         the rank could not, or may not: the kept calls fail
//
// Any thread may call any method except close(), which is for one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <infold/result.h>

#include "base/mutex.h"
#include "core/worker/worker.h"
#include "rank/call.h"
#include "rank/drivers/driver_set.h"
#include "rank/membership.h"
#include "rank/rejoin_record.h"

namespace infold::rank {

class Member;

// Which calls of a rank are finished. All ranks of a job that comes back must agree on it.
struct CallHistory {
  std::uint64_t finished = 0;  // all calls up to this one are finished
  std::uint64_t digest = 0;    // a digest of the finished calls beyond it
};

// What a member needs to take part in a job again.
struct Reentry {
  core::WorkerOptions worker;
  std::vector<DrivenSites> shares;
  std::shared_ptr<Membership> membership;
  // Tells the member of lost ranks and sites while the membership lasts.
  std::function<void(Member&)> watch;
  TellCalls tell = {};
};
// How a member comes back. Without `attempt`, it cannot.
struct Rejoin {
  std::function<Result<Reentry>(const CallHistory&, std::chrono::nanoseconds patience)> attempt;
  std::chrono::nanoseconds pause{};  // after a failed attempt
};

class Rejoiner {
 public:
  // What the rejoiner asks of its member, on the rejoiner's thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Leaves the job that has lost a switch.
    virtual void end_membership() = 0;
    // Takes part in the job again, and makes the calls of come_back() once more.
    virtual void resume(Reentry entry) = 0;
    // A kept call has failed; `why` ends the message.
    virtual void fail_kept(Call& call, const std::string& why) = 0;
  };

  // Throws std::system_error if no thread can be started.
  Rejoiner(Owner& owner, Rejoin rejoin, std::chrono::nanoseconds patience);
  ~Rejoiner() { close(); }

  // A call begins. Returns true if the job is away; the call is then kept.
  bool add(Call& call, const CallRequest& request);
  // A call has been concluded.
  void remove(Call& call);
  // Keeps a call that met the loss of a switch. Returns false if the call has to fail.
  bool keep(Call& call);
  bool keeps(const Call& call);

  // The job has lost a switch.
  void note_lost_switch();
  // Gives up for good: the kept calls fail, and `why` ends their messages.
  void give_up(const std::string& why);
  void close();

  // Called when the rank has joined the job again. Returns the calls to make again, in their order.
  std::vector<Call*> come_back();

 private:
  enum class State : std::uint8_t { present, away, over };
  // A call that is not finished.
  struct Unfinished {
    Call* call;
    std::uint64_t order;
    bool is_kept;
  };

  void run();
  std::optional<std::string> join_again();
  std::vector<Unfinished>::iterator find(const Call& call) REQUIRES(mutex_);
  CallHistory history() const REQUIRES(mutex_);
  std::chrono::nanoseconds time_left(base::Instant limit) const REQUIRES(mutex_);

  Owner& owner_;
  Rejoin rejoin_;
  std::chrono::nanoseconds patience_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  State state_ GUARDED_BY(mutex_) = State::present;
  std::string why_over_ GUARDED_BY(mutex_);
  std::vector<Unfinished> calls_ GUARDED_BY(mutex_);  // in their order
  std::size_t kept_ GUARDED_BY(mutex_) = 0;           // how many of them are kept
  std::uint64_t last_order_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last, because it uses all of the above
};

}  // namespace infold::rank
