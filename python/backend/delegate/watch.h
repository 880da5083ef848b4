// SPDX-License-Identifier: Apache-2.0
//
// Watches the delegate's calls in flight. If a rank dies, the delegate tells only the ranks whose
// connection to it is in use, and says only that the connection was closed. The job knows which
// rank was lost. A thread therefore checks regularly whether the job has lost a rank. If it has,
// the thread ends the delegate's calls here, and their failures get the job's explanation.
//
// After any failure the delegate cannot be used any more, and the group is over. Any thread may
// call any method.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "base/mutex.h"
#include "io/host/own_process.h"
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
  // Calls the listener, on any thread, when the delegate's calls are ended, or at once if they
  // already are. Ending them does not end receives from any rank, which therefore need a listener.
  Token when_broken(std::function<void()> listener);

  // The exception for the caller of `call` after a failure of the delegate. Waits up to some
  // seconds until the job knows the reason. If the job does not know it by then, the exception
  // gives `advice`.
  std::exception_ptr explain(const std::string& call, const std::exception_ptr& failure,
                             const std::string& advice);
  // Like explain(), but without a wait: null while the job may still learn the reason.
  std::exception_ptr try_explain(const std::string& call, const std::exception_ptr& failure,
                                 const std::string& advice);

  // Ends all calls of the delegate here. The other ranks' calls end as well, because they need this
  // rank. May be called repeatedly.
  void break_delegate();
  // Like break_delegate(), but also ends the group.
  void abort(const std::string& why);
  // Ends the thread and releases the group. May be called repeatedly.
  void end();

 private:
  void run();
  bool may_turn_out(const std::string& said);
  void ask_once();
  std::shared_ptr<GroupJob> job();

  const io::OwnProcess process_;  // a forked child releases tokens without effect
  base::Mutex mutex_;
  std::shared_ptr<GroupJob> job_ GUARDED_BY(mutex_);  // null after the end, like delegate_
  c10::intrusive_ptr<::c10d::Backend> delegate_ GUARDED_BY(mutex_);
  base::ConditionVariable changed_;
  std::size_t under_way_ GUARDED_BY(mutex_) = 0;
  bool is_broken_ GUARDED_BY(mutex_) = false;
  bool has_asked_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  // Set by the first failure.
  std::chrono::steady_clock::time_point patience_end_ GUARDED_BY(mutex_){};
  std::map<std::uint64_t, std::function<void()>> listeners_ GUARDED_BY(mutex_);
  std::uint64_t next_listener_ GUARDED_BY(mutex_) = 0;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace infold::pytorch
