// SPDX-License-Identifier: Apache-2.0
#include "python/backend/completions.h"

#include <chrono>
#include <pthread.h>
#include <thread>
#include <utility>

#include "python/backend/interpreter.h"
#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

// A callback may wait forever for something outside this group. The process must still end.
constexpr auto kDrainMost = std::chrono::seconds(10);

// The object whose thread this is, because a callback may end its own group.
thread_local const Completions* t_running = nullptr;

}  // namespace

void Completions::follow(c10::intrusive_ptr<Work> work) {
  const std::lock_guard lock(mutex_);
  followed_.push_back(std::move(work));
  if (!follows_) wake();
}

void Completions::post(Completion completion) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(completion));
  wake();
}

// Requires: the lock. Threads that are not idle may be blocked in callbacks.
void Completions::wake() {
  if (idle_ > 0) return changed_.notify_all();
  std::thread thread([self = shared_from_this()] { self->run(); });
  ++threads_;  // before the thread counts itself out, because it needs the lock first
  pthread_setname_np(thread.native_handle(), "infold-complete");
  thread.detach();
}

void Completions::run() {
  t_running = this;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!posted_.empty()) {
      Completion completion = std::move(posted_.front());
      posted_.pop_front();
      complete(lock, std::move(completion));
    } else if (has_task()) {
      follow_one(lock);
    } else if (has_ended_ || idle_ > 0) {
      break;
    } else {
      ++idle_;
      changed_.wait(lock, [this] { return has_task() || has_ended_; });
      --idle_;
    }
  }
  --threads_;
  changed_.notify_all();
}

// The thread that finds a work's end also completes its future, which saves a change of threads.
void Completions::follow_one(std::unique_lock<std::mutex>& lock) {
  follows_ = true;
  c10::intrusive_ptr<Work> work = std::move(followed_.front());
  followed_.pop_front();
  lock.unlock();
  work->conclude_calls();
  Completion completion = work->take_completion();
  work.reset();  // without the lock: a tensor's last owner may need the interpreter
  lock.lock();
  follows_ = false;
  if (completion) complete(lock, std::move(completion));
}

void Completions::complete(std::unique_lock<std::mutex>& lock, Completion completion) {
  if (has_task()) wake();
  lock.unlock();
  completion();
  completion = {};
  lock.lock();
}

void Completions::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

void Completions::drain() {
  end();
  const std::size_t own = t_running == this ? 1 : 0;
  const Released released = release_interpreter();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kDrainMost, [this, own] { return threads_ <= own; });
}

}  // namespace infold::pytorch
