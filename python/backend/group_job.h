// SPDX-License-Identifier: Apache-2.0
//
// A group's job at infold: is joined when the first collective needs it, and begins collectives in
// the order in which they were submitted. Each group has a job of its own, so that
// none waits for another's ranks.
//
// Calls begin on the thread that submits them, unless the job is still being joined, an earlier
// one has not begun, or a tensor must be brought from a device first; then a thread of its own
// begins them. A call with a timeout of its own that runs out while the job is being joined has
// failed for good. Other ranks count on it, so that the group is over. Any thread may call any
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

  // The work begins sooner or later, or fails.
  void submit(const c10::intrusive_ptr<Work>& work);
  // Those submitted that have not ended.
  std::vector<c10::intrusive_ptr<Work>> unfinished();

  // Waits for them, and then leaves the job.
  void drain();
  // Leaves at once: what has not ended fails, and so does what comes later. Repeatable.
  void close(const std::string& why);

  // Of the communicator, where there is one.
  std::optional<Statistics> statistics();
  std::string interface();
  bool has_failed();
  // The job is over because a rank, or an aggregator, has been lost.
  bool has_lost();
  // Why the job is over, or the group; nothing while they live, and where this rank was done.
  std::optional<std::string> why_over();
  bool has_joined();
  // Makes a call of no use but to hear what a call is told. Blocks, until the deadline at most.
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
  std::exception_ptr closed_;                   // why nothing more is taken
  std::optional<std::string> why_over_;         // known when it closed
  bool has_failed_ = false;
  bool begins_ = false;                              // a work, on the job's thread
  std::deque<c10::intrusive_ptr<Work>> waiting_;     // to begin
  std::deque<c10::intrusive_ptr<Work>> unfinished_;  // all of them, and some that have ended
  std::thread beginner_;
  // The call whose own time runs out first while the job is being joined, and the thread that ends
  // the joining then.
  std::optional<Time> joining_end_;
  std::exception_ptr too_late_;
  std::thread limiter_;
};

}  // namespace infold::pytorch
