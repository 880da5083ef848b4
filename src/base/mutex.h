// SPDX-License-Identifier: Apache-2.0
//
// The standard library's mutex, scoped lock and two condition variables, with attributes that clang
// uses to check that each member is touched only while its mutex is held. g++ ignores the
// attributes.
//
//   base::Mutex mutex_;
//   int count_ GUARDED_BY(mutex_) = 0;
//   void count_up() REQUIRES(mutex_);  // Its caller holds the mutex.
//
// clang analyses a lambda as a separate function, so a condition that a wait calls must say
// `[this]() REQUIRES(mutex_) { return count_ > 0; }`.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#ifdef __clang__
#define INFOLD_CLANG_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define INFOLD_CLANG_ATTRIBUTE(attribute)
#endif

// Older versions of abseil, which gRPC includes, define macros with these names and the same
// meanings.
#undef GUARDED_BY
#undef PT_GUARDED_BY
#undef ACQUIRED_AFTER
#undef NO_THREAD_SAFETY_ANALYSIS

#define CAPABILITY(kind) INFOLD_CLANG_ATTRIBUTE(capability(kind))
#define SCOPED_CAPABILITY INFOLD_CLANG_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(mutex) INFOLD_CLANG_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) INFOLD_CLANG_ATTRIBUTE(pt_guarded_by(mutex))
#define ACQUIRED_AFTER(...) INFOLD_CLANG_ATTRIBUTE(acquired_after(__VA_ARGS__))
#define ASSERT_CAPABILITY(mutex) INFOLD_CLANG_ATTRIBUTE(assert_capability(mutex))
#define REQUIRES(...) INFOLD_CLANG_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) INFOLD_CLANG_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) INFOLD_CLANG_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) INFOLD_CLANG_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(mutex) INFOLD_CLANG_ATTRIBUTE(lock_returned(mutex))
#define NO_THREAD_SAFETY_ANALYSIS INFOLD_CLANG_ATTRIBUTE(no_thread_safety_analysis)

namespace infold::base {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  // For a caller that has already locked the mutex, for example by try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) REQUIRES(mutex) : lock_(mutex.mutex_, adopt) {}
  ~MutexLock() RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }

 private:
  friend class ConditionVariable;
  friend class StopConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

// A wait that takes a condition returns whether the condition holds when the wait ends.
class ConditionVariable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  void wait_until(MutexLock& lock, TimePoint time) { changed_.wait_until(lock.lock_, time); }
  void wait_for(MutexLock& lock, std::chrono::nanoseconds duration) {
    changed_.wait_for(lock.lock_, duration);
  }
  template <typename Condition>
  bool wait_until(MutexLock& lock, TimePoint time, Condition condition) {
    return changed_.wait_until(lock.lock_, time, std::move(condition));
  }
  template <typename Condition>
  bool wait_for(MutexLock& lock, std::chrono::nanoseconds duration, Condition condition) {
    return changed_.wait_for(lock.lock_, duration, std::move(condition));
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

// A condition variable whose waits also end at a request to stop.
class StopConditionVariable {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  template <typename Condition>
  bool wait(MutexLock& lock, const std::stop_token& stop, Condition condition) {
    return changed_.wait(lock.lock_, stop, std::move(condition));
  }
  template <typename Condition>
  bool wait_until(MutexLock& lock, const std::stop_token& stop, TimePoint time,
                  Condition condition) {
    return changed_.wait_until(lock.lock_, stop, time, std::move(condition));
  }
  template <typename Condition>
  bool wait_for(MutexLock& lock, const std::stop_token& stop, std::chrono::nanoseconds duration,
                Condition condition) {
    return changed_.wait_for(lock.lock_, stop, duration, std::move(condition));
  }
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable_any changed_;
};

}  // namespace infold::base
