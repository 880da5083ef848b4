// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <utility>

namespace infold::cli {
namespace {

static_assert(std::atomic<int>::is_always_lock_free, "a signal's handler may not take a lock");
std::atomic<int> wished = 0;  // the signal's number
std::atomic<int> bell = -1;   // the guard's

void wish(int number) {
  const int before = errno;
  wished = number;
  eventfd_write(bell, 1);
  errno = before;
}

io::Doorbell open_bell() {
  auto opened = io::Doorbell::open();
  if (!opened) throw std::runtime_error("out of files");
  return std::move(*opened);
}

}  // namespace

InterruptGuard::InterruptGuard() : bell_(open_bell()) {
  wished = 0;
  bell = bell_.descriptor();
  before_int_ = std::signal(SIGINT, wish);
  before_term_ = std::signal(SIGTERM, wish);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, before_int_);
  std::signal(SIGTERM, before_term_);
  bell = -1;
}

bool InterruptGuard::interrupted() { return wished != 0; }

const char* InterruptGuard::signal_name() {
  const int number = wished;
  return number == 0 ? "" : number == SIGINT ? "SIGINT" : "SIGTERM";
}

// The bell is never silenced, so that a wish between the look and the sleep ends the sleep, too.
bool InterruptGuard::wait_for(std::chrono::milliseconds limit) const {
  pollfd rung = {bell_.descriptor(), POLLIN, 0};
  if (!interrupted()) poll(&rung, 1, static_cast<int>(limit.count()));
  return interrupted();
}

}  // namespace infold::cli
