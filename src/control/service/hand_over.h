// SPDX-License-Identifier: Apache-2.0
//
// A thread that gives connections to their owner, in the order in which they came. The owner may
// read a connection within the call that gives it, for as long as its peer sends. Whoever accepts
// and counts connections therefore does not make that call itself.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "io/file_descriptor.h"

namespace infold::control {

class HandOver {
 public:
  // `take` owns the descriptor. Throws std::system_error without a thread.
  explicit HandOver(std::function<void(int descriptor)> take);
  ~HandOver() { stop(); }
  // Closes the connection where it has been stopped. Any thread.
  void give(io::FileDescriptor connection);
  // Waits for a call that is under way. Closes what still waits. Once or more, one thread.
  void stop();
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

 private:
  void run();

  const std::function<void(int descriptor)> take_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  std::deque<io::FileDescriptor> waiting_;
  std::thread thread_;  // the last, because it uses the others
};

}  // namespace infold::control
