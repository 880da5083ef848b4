// SPDX-License-Identifier: Apache-2.0
//
// A process group's job at infold. The first collective joins the job. Collectives begin in the
// order in which they are submitted. Each group has a job of its own, so that no group waits for
// another group's ranks.
//
// A call begins on the thread that submits it. There are three exceptions: the job is still being
// joined, an earlier call has not begun, or a tensor must come from a device first. Then a thread
// of this object begins the call. If a call's own timeout runs out during joining, the call has
// failed for good. The other ranks need that call, so the group is over. Any thread may call any
// method.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <infold/communicator.h>

#include "python/backend/work.h"

namespace infold::pytorch {

class GroupJob {
 public:
  using Join = std::function<Result<Communicator>(std::stop_token)>;

  explicit GroupJob(Join join) : join_(std::move(join)) {}
  ~GroupJob() { close("the process group is gone"); }
  GroupJob(const GroupJob&) = delete;
  GroupJob& operator=(const GroupJob&) = delete;

  // Begins the work, now or later, or fails it.
  void submit(const c10::intrusive_ptr<Work>& work);
  // Submitted works that have not ended.
  std::vector<c10::intrusive_ptr<Work>> unfinished();

  // Waits for the unfinished works, then leaves the job.
  void drain();
  // Leaves the job at once. Unfinished works fail, and so do later ones. Repeatable.
  void close(const std::string& why);

  // Of the communicator, if there is one.
  std::optional<Statistics> statistics();
  std::string interface();
  bool has_failed();
  // The job is over because a rank, or an aggregator, has been lost.
  bool has_lost();
  // Why the job or the group is over. Nothing while both live, and after an orderly shutdown.
  std::optional<std::string> why_over();
  bool has_joined();
  // Makes a barrier only to learn how calls fail. Blocks until the deadline at most.
  void ask(std::chrono::nanoseconds deadline);

 private:
  void begin_works();
  void limit_joining(const Work& work);
  void end_joining_late();
  std::vector<c10::intrusive_ptr<Work>> take_ended();
  std::shared_ptr<Communicator> communicator();

  const Join join_;
  std::stop_source stop_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Communicator> communicator_;  // null until joined, and after the end
  std::exception_ptr closed_;                   // why no more works are taken
  std::optional<std::string> why_over_;         // as known when it closed
  bool has_failed_ = false;
  bool begins_ = false;                              // a work is beginning on beginner_
  std::deque<c10::intrusive_ptr<Work>> waiting_;     // to begin
  std::deque<c10::intrusive_ptr<Work>> unfinished_;  // all of them, and some that have ended
  std::thread beginner_;
  // During joining: the earliest end of a call's own timeout, and the thread that ends joining
  // then.
  std::optional<Time> joining_end_;
  std::exception_ptr too_late_;
  std::thread limiter_;
};

}  // namespace infold::pytorch
