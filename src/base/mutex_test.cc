// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace infold::base {
namespace {

class Counter {
 public:
  void count() {
    const MutexLock lock(mutex_);
    ++count_;
    changed_.notify_all();
    stoppable_.notify_all();
  }
  void wait_for(int count) {
    MutexLock lock(mutex_);
    while (count_ < count) changed_.wait(lock);
  }
  bool wait_until(ConditionVariable::TimePoint time, int count) {
    MutexLock lock(mutex_);
    return changed_.wait_until(lock, time, [&]() REQUIRES(mutex_) { return count_ >= count; });
  }
  bool wait_or_stop(const std::stop_token& stop, int count) {
    MutexLock lock(mutex_);
    return stoppable_.wait(lock, stop, [&]() REQUIRES(mutex_) { return count_ >= count; });
  }
  Mutex& mutex() RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  StopConditionVariable stoppable_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, CountsOfSeveralThreadsAreAllSeen) {
  Counter counter;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counter] {
      for (int k = 0; k < 1000; ++k) counter.count();
    });
  }
  counter.wait_for(4000);
  EXPECT_TRUE(counter.wait_or_stop({}, 4000));
}

TEST(Mutex, IsNotTakenWhileAnotherThreadHoldsIt) {
  Counter counter;
  const MutexLock lock(counter.mutex());
  bool is_taken = true;
  std::jthread([&]() NO_THREAD_SAFETY_ANALYSIS {  // tests both ends of try_lock()
    is_taken = counter.mutex().try_lock();
  })
      .join();
  EXPECT_FALSE(is_taken);
}

TEST(ConditionVariable, TellsAtTheDeadlineWhetherTheConditionHolds) {
  Counter counter;
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(counter.wait_until(now + std::chrono::milliseconds(1), 1));
  EXPECT_GE(std::chrono::steady_clock::now(), now + std::chrono::milliseconds(1));
  counter.count();
  EXPECT_TRUE(counter.wait_until(now, 1));
}

TEST(StopConditionVariable, EndsAWaitWhenAStopIsRequested) {
  Counter counter;
  std::stop_source stop;
  const std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_FALSE(counter.wait_or_stop(stop.get_token(), 1));
}

}  // namespace
}  // namespace infold::base
