// SPDX-License-Identifier: Apache-2.0
//
// A process group's job at infold. The first collective joins the job. Collectives begin in the
// order in which they are submitted. Each group has its own job, so that no group waits for the
// ranks of another group.
//
// A call begins on the thread that submits it, with three exceptions: the job is still being
// joined, an earlier call has not begun, or a tensor must first come from a device. In these cases
// a thread of this object begins the call. If a call's own timeout expires during joining, the call
// has failed for good. The other ranks need that call, so the group is over. Any thread may call
// any method.
#pragma once

#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <infold/communicator.h>

#include "base/mutex.h"
#include "python/backend/work.h"

namespace infold::pytorch {

class GroupJob {
 public:
  using Join = std::function<Result<Communicator>(std::stop_token)>;

  explicit GroupJob(Join join) : join_(std::move(join)) {}
  ~GroupJob() { close("the process group is gone"); }
  GroupJob(const GroupJob&) = delete;
  GroupJob& operator=(const GroupJob&) = delete;

  // Begins the work now or later, or fails it.
  void submit(const c10::intrusive_ptr<Work>& work);
  // Submitted works that have not ended.
  std::vector<c10::intrusive_ptr<Work>> unfinished();

  // Waits for the unfinished works, then leaves the job.
  void drain();
  // Leaves the job at once. Unfinished and later works fail. May be called repeatedly.
  void close(const std::string& why);

  // These ask the communicator, if there is one.
  std::optional<Statistics> statistics();
  std::string interface();
  // Whether the job or the group is over, except after an orderly shutdown.
  bool has_failed();
  // Whether the job is over because a rank or an aggregator was lost.
  bool has_lost();
  // Why the job or the group is over. Empty while both live, and after an orderly shutdown.
  std::optional<std::string> why_over();
  bool has_joined();
  // Makes a barrier only to learn how calls fail. Blocks at most until the deadline.
  void ask(std::chrono::nanoseconds deadline);

 private:
  void begin_works();
  void limit_joining(const Work& work) REQUIRES(mutex_);
  void end_joining_late();
  std::vector<c10::intrusive_ptr<Work>> take_ended() REQUIRES(mutex_);
  std::shared_ptr<Communicator> communicator();

  const Join join_;
  std::stop_source stop_;

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  // Null until the job is joined, and after the end.
  std::shared_ptr<Communicator> communicator_ GUARDED_BY(mutex_);
  std::exception_ptr closed_ GUARDED_BY(mutex_);            // why no more works are accepted
  std::optional<std::string> why_over_ GUARDED_BY(mutex_);  // as known when the job was closed
  bool has_failed_ GUARDED_BY(mutex_) = false;
  bool begins_ GUARDED_BY(mutex_) = false;  // a work is beginning on beginner_
  std::deque<c10::intrusive_ptr<Work>> waiting_ GUARDED_BY(mutex_);  // to begin
  // Includes all works that have not ended.
  std::deque<c10::intrusive_ptr<Work>> unfinished_ GUARDED_BY(mutex_);
  std::thread beginner_ GUARDED_BY(mutex_);
  // During joining: the earliest end of a call's own timeout, and the thread that then ends
  // joining.
  std::optional<Time> joining_end_ GUARDED_BY(mutex_);
  std::exception_ptr too_late_ GUARDED_BY(mutex_);
  std::thread limiter_ GUARDED_BY(mutex_);
};

}  // namespace infold::pytorch
