// SPDX-License-Identifier: Apache-2.0
//
// While the guard lives, Ctrl-C and SIGTERM become a stop request that a command reads. A process
// has at most one guard at a time.
//
// The kernel hands a signal to any thread that does not block it, and a library's threads block
// none. So the handler, on whatever thread it runs, wakes the thread that waits here.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include <infold/handle.h>

#include "io/memory/doorbell.h"

namespace infold::lab {

class InterruptGuard {
 public:
  // Throws std::runtime_error if the process is out of files.
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // "SIGTERM" or "SIGINT", the one that came last; "" if none came.
  static const char* signal_name();
  // Waits for a stop request, at most for so long. Returns true if the request has come, at once if
  // it came before.
  bool wait_for(std::chrono::milliseconds limit) const;
  // As above without a limit; also returns when the other doorbell rings.
  bool wait_or(const io::Doorbell& other) const;

 private:
  io::Doorbell bell_;
  void (*before_int_)(int);
  void (*before_term_)(int);
};

// The stop request as a stop token, for calls that cannot wait on the guard. Borrows the guard. A
// thread passes the request on, because a signal handler may not.
class InterruptStop {
 public:
  // Throws std::runtime_error if the process is out of files, and std::system_error if no thread
  // starts.
  explicit InterruptStop(const InterruptGuard& guard);
  ~InterruptStop();

  std::stop_token token() const { return source_.get_token(); }

 private:
  io::Doorbell over_;
  std::stop_source source_;
  std::thread watch_;
};

// Waits until the call has ended. After a stop request it cancels the call.
Result<Completion> wait_or_cancel(Handle handle, const std::stop_token& stop);

}  // namespace infold::lab
