// SPDX-License-Identifier: Apache-2.0
#include "control/service/hand_over.h"

#include <utility>

namespace infold::control {

HandOver::HandOver(std::function<void(int descriptor)> take)
    : take_(std::move(take)), thread_([this] { run(); }) {}

void HandOver::give(io::FileDescriptor connection) {
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    waiting_.push_back(std::move(connection));
  }
  changed_.notify_one();
}

void HandOver::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    waiting_.clear();
  }
  changed_.notify_one();
  thread_.join();
}

void HandOver::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !waiting_.empty(); });
    if (stops_) return;
    io::FileDescriptor next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    take_(next.release());
    lock.lock();
  }
}

}  // namespace infold::control
