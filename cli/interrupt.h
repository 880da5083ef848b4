// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and SIGTERM as a wish that a command reads, while the guard lives. One at a time.
//
// The kernel hands a signal to any thread that does not block it, and a library's threads block
// none. So the handler, on whatever thread it runs, wakes the thread that waits here.
#pragma once

#include <chrono>

#include "io/doorbell.h"

namespace infold::cli {

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

 private:
  io::Doorbell bell_;
  void (*before_int_)(int);
  void (*before_term_)(int);
};

}  // namespace infold::cli
