// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <csignal>

namespace infold::cli {
namespace {

volatile std::sig_atomic_t wished = 0;

void wish(int) { wished = 1; }

}  // namespace

InterruptGuard::InterruptGuard() {
  wished = 0;
  before_int_ = std::signal(SIGINT, wish);
  before_term_ = std::signal(SIGTERM, wish);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
}

bool InterruptGuard::interrupted() { return wished != 0; }

// Blocked between the look and the sleep, so that no wish falls in between.
void InterruptGuard::wait() const {
  sigset_t both;
  sigset_t before;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &both, &before);
  while (wished == 0) sigsuspend(&before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace infold::cli
