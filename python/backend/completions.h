// SPDX-License-Identifier: Apache-2.0
//
// A group's threads that conclude works when no caller waits, and complete their futures. A
// callback may wait for another future of the same group, as PowerSGD's hook does. While a callback
// blocks one thread, another thread therefore does the other completions.
//
// Any thread may call any method. Threads keep this object alive until they end.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include <c10/util/intrusive_ptr.h>

#include "base/mutex.h"

namespace infold::pytorch {

class Work;

class Completions : public std::enable_shared_from_this<Completions> {
 public:
  using Completion = std::function<void()>;

  Completions() = default;
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  // Waits until the work and all earlier ones have ended, and completes the work's future.
  void follow(c10::intrusive_ptr<Work> work);
  // Runs the completion soon. It may block without limit.
  void post(Completion completion);
  // Ends idle threads, now and later. May be called repeatedly.
  void end();
  // Like end(), but also waits up to 10 s for running completions. A callback may run Python code.
  void drain();

 private:
  void run();
  void wake() REQUIRES(mutex_);
  // These release the lock while they run.
  void follow_one() REQUIRES(mutex_);
  void complete(Completion completion) REQUIRES(mutex_);
  bool has_task() const REQUIRES(mutex_) {
    return !posted_.empty() || (!follows_ && !followed_.empty());
  }

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::deque<Completion> posted_ GUARDED_BY(mutex_);
  std::deque<c10::intrusive_ptr<Work>> followed_ GUARDED_BY(mutex_);
  // Whether a thread waits for a work's end; a second thread would not help.
  bool follows_ GUARDED_BY(mutex_) = false;
  std::size_t threads_ GUARDED_BY(mutex_) = 0;  // running threads
  std::size_t idle_ GUARDED_BY(mutex_) = 0;     // how many of them are idle; at most one
  bool has_ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::pytorch
