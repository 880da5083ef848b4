// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C and SIGTERM as a wish that a command reads, while the guard lives. One at a time.
#pragma once

namespace infold::cli {

class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Until the wish comes; returns at once if it has.
  void wait() const;

 private:
  void (*before_int_)(int);
  void (*before_term_)(int);
};

}  // namespace infold::cli
