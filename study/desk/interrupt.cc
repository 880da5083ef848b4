// SPDX-License-Identifier: Apache-2.0
#include "study/desk/interrupt.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <utility>

namespace infold::desk {
namespace {

static_assert(std::atomic<int>::is_always_lock_free, "a signal's handler may not take a lock");
std::atomic<int> wished = 0;  // the last signal's number
std::atomic<int> bell = -1;   // the descriptor through which a guard's thread is woken

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

// The bell stays readable once it has rung, so a signal between the check and poll() also ends
// poll().
bool InterruptGuard::wait_for(std::chrono::milliseconds limit) const {
  pollfd rung = {bell_.descriptor(), POLLIN, 0};
  if (!interrupted()) poll(&rung, 1, static_cast<int>(limit.count()));
  return interrupted();
}

bool InterruptGuard::wait_or(const io::Doorbell& other) const {
  pollfd rung[] = {{bell_.descriptor(), POLLIN, 0}, {other.descriptor(), POLLIN, 0}};
  while (poll(rung, std::size(rung), -1) < 0) {
  }
  return interrupted();
}

InterruptStop::InterruptStop(const InterruptGuard& guard) : over_(open_bell()) {
  watch_ = std::thread([this, &guard] {
    if (guard.wait_or(over_)) source_.request_stop();
  });
}

InterruptStop::~InterruptStop() {
  over_.ring();
  watch_.join();
}

Result<Completion> wait_or_cancel(Handle handle, const std::stop_token& stop) {
  const std::stop_callback on_stop(stop, [&handle] { handle.cancel(); });
  return handle.wait();
}

}  // namespace infold::desk
