// SPDX-License-Identifier: Apache-2.0
//
// Tasks in the order in which they were added, run one at a time without any lock. A state machine
// under a lock adds its calls of other parties here. A thread runs the tasks and looks at the
// machine's deadlines, or a test does both.
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

  // From now on a thread runs tasks as they come. It calls `on_time` after each time that wake_at()
  // was given; times are of io::monotonic_now(). Throws std::system_error without a thread.
  void run_on_thread(std::function<void()> on_time);
  // The thread ends after the task that it runs now. Other tasks wait for run(). Once or more.
  void stop();
  // Any thread; never waits for a task.
  void add(std::function<void()> task);
  void wake_at(base::Instant time);  // the latest call counts
  // Without a thread: runs tasks until none is left. False: there was none.
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
