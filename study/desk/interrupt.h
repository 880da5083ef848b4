// SPDX-License-Identifier: Apache-2.0
//
// While the guard lives, Ctrl-C and SIGTERM become a stop request that a command reads. A process
// has at most one guard at a time.
//
// The kernel hands a signal to any thread that does not block it, and the threads of libraries do
// not block any. The handler may therefore run on any thread, and wakes the thread that waits here.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include <infold/handle.h>

#include "io/memory/doorbell.h"

namespace infold::desk {

class InterruptGuard {
 public:
  // Throws std::runtime_error if the process has no file descriptors left.
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Returns "SIGTERM" or "SIGINT", whichever came last, or "" if none came.
  static const char* signal_name();
  // Waits for a stop request, for at most `limit`. Returns true if there is a request; returns at
  // once if it came earlier.
  bool wait_for(std::chrono::milliseconds limit) const;
  // Waits without a limit, but also returns when the other doorbell rings.
  bool wait_or(const io::Doorbell& other) const;

 private:
  io::Doorbell bell_;
  void (*before_int_)(int);
  void (*before_term_)(int);
};

// Turns the stop request into a stop token, for calls that cannot wait on the guard. Borrows the
// guard. A thread passes the request on, because a signal handler may not do so.
class InterruptStop {
 public:
  // Throws std::runtime_error if the process has no file descriptors left, and std::system_error if
  // the thread cannot start.
  explicit InterruptStop(const InterruptGuard& guard);
  ~InterruptStop();

  std::stop_token token() const { return source_.get_token(); }

 private:
  io::Doorbell over_;
  std::stop_source source_;
  std::thread watch_;
};

// Waits until the call has ended. A stop request cancels the call.
Result<Completion> wait_or_cancel(Handle handle, const std::stop_token& stop);

}  // namespace infold::desk
