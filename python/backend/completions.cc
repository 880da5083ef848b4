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

// A callback may wait forever for something outside this group, but the process must still be able
// to end.
constexpr auto kDrainMost = std::chrono::seconds(10);

// The object that this thread belongs to, because a callback may end its own group.
thread_local const Completions* t_running = nullptr;

}  // namespace

void Completions::follow(c10::intrusive_ptr<Work> work) {
  const base::MutexLock lock(mutex_);
  followed_.push_back(std::move(work));
  if (!follows_) wake();
}

void Completions::post(Completion completion) {
  const base::MutexLock lock(mutex_);
  posted_.push_back(std::move(completion));
  wake();
}

// Threads that are not idle may be blocked in callbacks, so a new thread is started if none is
// idle.
void Completions::wake() {
  if (idle_ > 0) return changed_.notify_all();
  std::thread thread([self = shared_from_this()] { self->run(); });
  ++threads_;  // the thread takes the lock before it counts itself out
  pthread_setname_np(thread.native_handle(), "infold-complete");
  thread.detach();
}

void Completions::run() {
  t_running = this;
  base::MutexLock lock(mutex_);
  for (;;) {
    if (!posted_.empty()) {
      Completion completion = std::move(posted_.front());
      posted_.pop_front();
      complete(std::move(completion));
    } else if (has_task()) {
      follow_one();
    } else if (has_ended_ || idle_ > 0) {
      break;
    } else {
      ++idle_;
      while (!has_task() && !has_ended_) changed_.wait(lock);
      --idle_;
    }
  }
  --threads_;
  changed_.notify_all();
}

// The thread that finds a work's end also completes its future, so that no other thread has to wake
// up.
void Completions::follow_one() {
  follows_ = true;
  c10::intrusive_ptr<Work> work = std::move(followed_.front());
  followed_.pop_front();
  mutex_.unlock();
  work->conclude_calls();
  Completion completion = work->take_completion();
  work.reset();  // without the lock, because a tensor's last owner may need the interpreter
  mutex_.lock();
  follows_ = false;
  if (completion) complete(std::move(completion));
}

void Completions::complete(Completion completion) {
  if (has_task()) wake();
  mutex_.unlock();
  completion();
  completion = {};
  mutex_.lock();
}

void Completions::end() {
  const base::MutexLock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

void Completions::drain() {
  end();
  const std::size_t own = t_running == this ? 1 : 0;
  const Released released = release_interpreter();
  base::MutexLock lock(mutex_);
  changed_.wait_for(lock, kDrainMost, [this, own]() REQUIRES(mutex_) { return threads_ <= own; });
}

}  // namespace infold::pytorch
