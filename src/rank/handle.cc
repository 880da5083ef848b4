// SPDX-License-Identifier: Apache-2.0
//
// Handle: waits for a call, and returns the call to its pool when nobody can ask for its result any
// more.
#include <algorithm>
#include <utility>

#include <infold/handle.h>

#include "io/host/clock.h"
#include "rank/call.h"
#include "rank/member.h"

namespace infold {
namespace {

// Longer than any deadline, and small enough that adding it to a clock's time cannot overflow.
constexpr std::chrono::nanoseconds kForever = std::chrono::hours(24 * 365 * 2);

tl::unexpected<Error> no_call() {
  return tl::unexpected(Error{Code::invalid_argument,
                              "this handle stands for no call: it was moved from, or its "
                              "communicator belongs to no job",
                              -1, ""});
}

// A forked child cannot wait for its parent's call, and its copy of the pool needs nothing back.
void let_go(std::shared_ptr<rank::Call> call) {
  if (!call || call->member().refuse_child()) return;
  static_cast<void>(call->wait());
  call->member().recycle(*call);
}

}  // namespace

Handle::Handle(std::shared_ptr<rank::Call> call) : call_(std::move(call)) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) let_go(std::exchange(call_, std::move(other.call_)));
  return *this;
}

Handle::~Handle() { let_go(std::move(call_)); }

Result<Completion> Handle::wait() const {
  if (!call_) return no_call();
  if (auto error = call_->member().refuse_child()) return tl::unexpected(*std::move(error));
  if (!call_->done()) call_->member().drive_until(*call_, base::Instant::never());
  return call_->wait();
}

Result<Completion> Handle::wait_for(std::chrono::nanoseconds timeout) const {
  if (!call_) return no_call();
  if (auto error = call_->member().refuse_child()) return tl::unexpected(*std::move(error));
  const auto bounded = std::clamp(timeout, std::chrono::nanoseconds(0), kForever);
  const auto until = std::chrono::steady_clock::now() + bounded;
  if (!call_->done()) {
    const base::Duration left = {bounded.count()};
    call_->member().drive_until(*call_, io::monotonic_now() + left);
  }
  if (const auto result = call_->wait_until(until)) {
    return *result;
  }
  return tl::unexpected(call_->member().pending_error(*call_, bounded));
}

bool Handle::test() const {
  return !call_ || call_->member().refuse_child().has_value() || call_->done();
}

void Handle::cancel() {
  if (call_ && !call_->member().refuse_child()) call_->member().cancel(*call_);
}

}  // namespace infold
