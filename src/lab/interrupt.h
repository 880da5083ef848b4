// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and SIGTERM as a wish that a command reads, while the guard lives. One at a time.
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
  // "SIGTERM" or "SIGINT", whichever came last; "" before either.
  static const char* signal_name();
  // Until the wish comes, or that long; returns whether it came. Returns at once if it has.
  bool wait_for(std::chrono::milliseconds limit) const;
  // The same, or until the other bell rings.
  bool wait_or(const io::Doorbell& other) const;

 private:
  io::Doorbell bell_;
  void (*before_int_)(int);
  void (*before_term_)(int);
};

// The wish as a stop token, for what blocks on something else than the guard. Borrows the guard. A
// thread passes the wish on, because a signal's handler may not.
class InterruptStop {
 public:
  // Throws std::runtime_error if the process is out of files, std::system_error without a thread.
  explicit InterruptStop(const InterruptGuard& guard);
  ~InterruptStop();

  std::stop_token token() const { return source_.get_token(); }

 private:
  io::Doorbell over_;
  std::stop_source source_;
  std::thread watch_;
};

// Waits until the call has ended, and gives the call up when the stop is asked for.
Result<Completion> wait_or_cancel(Handle handle, const std::stop_token& stop);

}  // namespace infold::lab
