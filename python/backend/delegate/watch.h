// SPDX-License-Identifier: Apache-2.0
//
// Watches over the delegate's calls while they are under way. Of a rank that dies the delegate says
// to those with a connection to it in use that this was closed, and nothing to ranks that wait for
// those; the job knows who it was. So a thread looks whether the job has lost a rank, and if so
// ends what the delegate does here, and failures are told in the job's words.
//
// After any failure of the delegate's it is of no more use, and the group is over with it. Any
// thread may call any method.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "python/backend/group_job.h"

namespace infold::pytorch {

class Watch : public std::enable_shared_from_this<Watch> {
 public:
  // Until it goes, a call of the delegate is under way.
  using Token = std::shared_ptr<void>;

  Watch(std::shared_ptr<GroupJob> job, c10::intrusive_ptr<::c10d::Backend> delegate);
  ~Watch() { end(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Token hold();
  // Calls it, on any thread, when the delegate's calls are ended, which does not reach receives
  // from anybody; at once if they have been.
  Token when_broken(std::function<void()> listener);

  // What the caller of `call` is told of a failure of the delegate's. Waits until the job knows
  // more, for some seconds at most; `advice` is for when it does not.
  std::exception_ptr explain(const std::string& call, const std::exception_ptr& failure,
                             const std::string& advice);
  // The same without waiting: null while it might still turn out.
  std::exception_ptr try_explain(const std::string& call, const std::exception_ptr& failure,
                                 const std::string& advice);

  // Ends all calls of the delegate, here and, as they need this rank, elsewhere. Repeatable.
  void break_delegate();
  // The same, and the group with it.
  void abort(const std::string& why);
  // Looks no more, and lets go of the group. Repeatable.
  void end();

 private:
  void run();
  bool may_turn_out(const std::string& said);
  void ask_once();
  std::shared_ptr<GroupJob> job();

  std::mutex mutex_;               // of all that follows
  std::shared_ptr<GroupJob> job_;  // null after the end, as the next
  c10::intrusive_ptr<::c10d::Backend> delegate_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
  bool is_broken_ = false;
  bool has_asked_ = false;
  bool has_ended_ = false;
  std::chrono::steady_clock::time_point patience_end_{};  // set by the first failure
  std::map<std::uint64_t, std::function<void()>> listeners_;
  std::uint64_t next_listener_ = 0;
  std::thread thread_;
};

}  // namespace infold::pytorch
