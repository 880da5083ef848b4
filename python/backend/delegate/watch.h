// SPDX-License-Identifier: Apache-2.0
//
// Watches the delegate's calls in flight. If a rank dies, the delegate tells only the ranks whose
// connection to it is in use, and says only that the connection was closed. The job knows which
// rank was lost. So a thread looks whether the job has lost a rank. If it has, the thread ends the
// delegate's calls here, and their failures get the job's explanation.
//
// After any failure the delegate is of no more use, and the group is over. Any thread may call any
// method.
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
  // While a token exists, a call of the delegate is in flight.
  using Token = std::shared_ptr<void>;

  Watch(std::shared_ptr<GroupJob> job, c10::intrusive_ptr<::c10d::Backend> delegate);
  ~Watch() { end(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  Token hold();
  // Calls the listener, on any thread, when the delegate's calls are ended; at once if they have
  // been. Ending them does not end receives from any rank, so those need a listener.
  Token when_broken(std::function<void()> listener);

  // The exception for the caller of `call` after a failure of the delegate. Waits some seconds at
  // most until the job knows the reason. If it does not, the exception gives `advice`.
  std::exception_ptr explain(const std::string& call, const std::exception_ptr& failure,
                             const std::string& advice);
  // The same without a wait: null while the job may still learn the reason.
  std::exception_ptr try_explain(const std::string& call, const std::exception_ptr& failure,
                                 const std::string& advice);

  // Ends all calls of the delegate here. Other ranks' calls end too, as they need this rank.
  // Repeatable.
  void break_delegate();
  // The same, and ends the group.
  void abort(const std::string& why);
  // Ends the thread and releases the group. Repeatable.
  void end();

 private:
  void run();
  bool may_turn_out(const std::string& said);
  void ask_once();
  std::shared_ptr<GroupJob> job();

  std::mutex mutex_;               // guards all members below
  std::shared_ptr<GroupJob> job_;  // null after the end, like delegate_
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
