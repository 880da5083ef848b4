// SPDX-License-Identifier: Apache-2.0
//
// A group's threads that conclude works without a waiting caller, and complete futures. A callback
// may wait for another future of the same group, as PowerSGD's hook does. So while a callback
// blocks a thread, another thread does the other completions.
//
// Any thread may call any method. Threads keep this object alive until they end.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include <c10/util/intrusive_ptr.h>

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
  // Idle threads end, now and later. Repeatable.
  void end();
  // The same, and waits at most 10 s for running completions. A callback may run Python code.
  void drain();

 private:
  void run();
  void wake();
  void follow_one(std::unique_lock<std::mutex>& lock);
  void complete(std::unique_lock<std::mutex>& lock, Completion completion);
  bool has_task() const { return !posted_.empty() || (!follows_ && !followed_.empty()); }

  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::deque<Completion> posted_;
  std::deque<c10::intrusive_ptr<Work>> followed_;
  bool follows_ = false;     // a thread waits for a work's end; a second one would not help
  std::size_t threads_ = 0;  // running threads
  std::size_t idle_ = 0;     // of these; at most one
  bool has_ended_ = false;
};

}  // namespace infold::pytorch
