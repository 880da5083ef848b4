// SPDX-License-Identifier: Apache-2.0
//
// Threads of a group that conclude works for callers that do not wait, and complete futures. A
// callback may wait for another future of the same group, as PowerSGD's hook does. So no callback
// runs on a thread that other completions need: while one blocks, another thread takes its place.
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

  // Waits for the work's end, after those that came before, and completes its future.
  void follow(c10::intrusive_ptr<Work> work);
  // Runs it soon. It may block for as long as it likes.
  void post(Completion completion);
  // Keeps no thread any longer without need. Repeatable.
  void end();
  // The same, and waits for completions that run, for 10 s at most: the last may be Python's.
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
  bool follows_ = false;     // a thread waits for a work's end; others would only take its turn
  std::size_t threads_ = 0;  // that have not ended
  std::size_t idle_ = 0;     // of them: one at most
  bool has_ended_ = false;
};

}  // namespace infold::pytorch
