// SPDX-License-Identifier: Apache-2.0
#include "join/agenda.h"

#include <chrono>
#include <utility>

#include "io/host/clock.h"

namespace infold::join {

Agenda::~Agenda() {
  stop();
  run();
}

void Agenda::stop() {
  {
    const base::MutexLock lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Agenda::run_on_thread(std::function<void()> on_time) {
  on_time_ = std::move(on_time);
  thread_ = std::thread([this] { serve(); });
}

void Agenda::add(std::function<void()> task) {
  {
    const base::MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Agenda::wake_at(base::Instant time) {
  {
    const base::MutexLock lock(mutex_);
    if (wake_at_ == time) return;
    wake_at_ = time;
  }
  changed_.notify_one();
}

bool Agenda::run() {
  bool any = false;
  for (std::function<void()> task; take(task); task = nullptr) {
    task();
    any = true;
  }
  return any;
}

bool Agenda::take(std::function<void()>& task) {
  const base::MutexLock lock(mutex_);
  if (tasks_.empty()) return false;
  task = std::move(tasks_.front());
  tasks_.pop_front();
  return true;
}

void Agenda::serve() {
  base::MutexLock lock(mutex_);
  while (!stops_) {
    if (wake_at_ <= io::monotonic_now()) {
      wake_at_ = base::Instant::never();
      lock.unlock();
      on_time_();
      lock.lock();
    } else if (!tasks_.empty()) {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // without the lock, because objects that it held may call back
      lock.lock();
    } else if (wake_at_ == base::Instant::never()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds((wake_at_ - io::monotonic_now()).ns));
    }
  }
}

}  // namespace infold::join
