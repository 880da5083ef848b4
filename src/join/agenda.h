// SPDX-License-Identifier: Apache-2.0
//
// Runs tasks one at a time, in the order in which they were added and without any lock. A state
// machine under a lock adds its calls of other parties here. Either a thread runs the tasks and
// watches the machine's deadlines, or a test does both.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/instant.h"
#include "base/mutex.h"

namespace infold::join {

class Agenda {
 public:
  Agenda() = default;
  ~Agenda();  // stops, and runs all tasks that are left
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  // From now on, a thread runs tasks as they come. It also calls `on_time` at the time that
  // wake_at() was given; times are those of io::monotonic_now(). Throws std::system_error if no
  // thread can be started.
  void run_on_thread(std::function<void()> on_time);
  // Ends the thread after the task that it runs now. The other tasks wait for run(). May be called
  // repeatedly.
  void stop();
  // Any thread may call it. It never waits for a task.
  void add(std::function<void()> task);
  void wake_at(base::Instant time);  // the latest call counts
  // For use without a thread: runs tasks until none is left. Returns false if there was none.
  bool run();

 private:
  void serve();
  bool take(std::function<void()>& task);

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::deque<std::function<void()>> tasks_ GUARDED_BY(mutex_);
  base::Instant wake_at_ GUARDED_BY(mutex_) = base::Instant::never();
  bool stops_ GUARDED_BY(mutex_) = false;
  std::function<void()> on_time_;
  std::thread thread_;
};

}  // namespace infold::join
