// SPDX-License-Identifier: Apache-2.0
#include "rank/rejoiner.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "io/host/clock.h"

namespace infold::rank {
namespace {

// Ranks notice within moments of each other and then try over and over, so that the tries of all
// overlap; a communicator that is destroyed meanwhile waits no longer than this.
constexpr std::chrono::nanoseconds kTry = std::chrono::seconds(2);

// Another try cannot end otherwise.
bool is_final(const Error& error) {
  return error.code == Code::mismatch || error.code == Code::invalid_argument;
}

}  // namespace

Rejoiner::Rejoiner(Owner& owner, Rejoin rejoin, std::chrono::nanoseconds patience)
    : owner_(owner), rejoin_(std::move(rejoin)), patience_(patience), thread_([this] { run(); }) {}

bool Rejoiner::add(Call& call, const CallRequest& request) {
  Call::Again& again = call.again;
  again.list.assign(request.list.begin(), request.list.end());
  again.request = request;
  again.request.list = again.list;
  const std::lock_guard lock(mutex_);
  again.order = ++last_order_;
  again.is_kept = state_ == State::away;
  kept_ += again.is_kept ? 1 : 0;
  calls_.push_back(&call);
  return again.is_kept;
}

void Rejoiner::remove(Call& call) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find(calls_.begin(), calls_.end(), &call);
  if (place == calls_.end()) return;
  kept_ -= std::exchange(call.again.is_kept, false) ? 1 : 0;
  calls_.erase(place);
  // The thread sleeps while the job is present, and is not to wake up for every call.
  if (state_ == State::away) changed_.notify_all();
}

bool Rejoiner::keep(Call& call) {
  const std::lock_guard lock(mutex_);
  if (state_ == State::over) return false;
  changed_.notify_all();
  if (!call.outline.input_survives) {
    state_ = State::over;
    why_over_ = "a call in place without keep_input cannot be made again";
    return false;
  }
  state_ = State::away;
  kept_ += std::exchange(call.again.is_kept, true) ? 0 : 1;
  return true;
}

bool Rejoiner::keeps(const Call& call) {
  const std::lock_guard lock(mutex_);
  return call.again.is_kept;
}

void Rejoiner::note_lost_switch() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::present) state_ = State::away;
  changed_.notify_all();
}

void Rejoiner::give_up(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::over) why_over_ = why;
  state_ = State::over;
  changed_.notify_all();
}

void Rejoiner::close() {
  give_up("this rank has left the job");
  if (thread_.joinable()) thread_.join();
}

std::vector<Call*> Rejoiner::come_back() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::over) return {};
  state_ = State::present;
  kept_ = 0;
  for (Call* const call : calls_) call->again.is_kept = false;
  return calls_;
}

void Rejoiner::run() {
  std::unique_lock lock(mutex_);
  while (state_ != State::over) {
    changed_.wait(lock, [this] { return state_ != State::present; });
    if (state_ == State::over) break;
    lock.unlock();
    const std::optional<std::string> failed = join_again();
    if (failed) give_up(*failed);
    lock.lock();
  }
  std::vector<Call*> kept;
  std::copy_if(calls_.begin(), calls_.end(), std::back_inserter(kept),
               [](const Call* call) { return call->again.is_kept; });
  const std::string why = why_over_;
  lock.unlock();
  for (Call* const call : kept) owner_.fail_kept(*call, why);
}

// Nothing once the job is back, else why it is not.
std::optional<std::string> Rejoiner::join_again() {
  const base::Instant limit = io::monotonic_now() + base::Duration{patience_.count()};
  std::string why;
  std::unique_lock lock(mutex_);
  // Every call in flight hears of the end; only then is it known which are finished.
  changed_.wait(lock, [this] { return kept_ == calls_.size() || state_ == State::over; });
  lock.unlock();
  owner_.end_membership();
  lock.lock();
  while (state_ != State::over) {
    const std::chrono::nanoseconds left = time_left(limit);
    if (left.count() <= 0) return why.empty() ? "no time was left to join it again" : why;
    const CallHistory done = history();
    lock.unlock();
    Result<Reentry> entry = rejoin_.attempt(done, std::min(left, kTry));
    if (entry) {
      owner_.resume(std::move(*entry));
      return std::nullopt;
    }
    why = "it could not be joined again (" + entry.error().message + ")";
    if (is_final(entry.error())) return why;
    lock.lock();
    changed_.wait_for(lock, rejoin_.pause, [this] { return state_ == State::over; });
  }
  return why_over_;
}

CallHistory Rejoiner::history() const {
  const std::uint64_t finished = calls_.empty() ? last_order_ : calls_.front()->again.order - 1;
  if (finished + calls_.size() == last_order_) return {finished, 0};
  base::Digest digest;
  std::size_t next = 0;
  for (std::uint64_t order = finished + 1; order <= last_order_; ++order) {
    if (next < calls_.size() && calls_[next]->again.order == order) {
      ++next;
    } else {
      digest.add(order);
    }
  }
  return {finished, digest.value()};
}

// Until the first call that is kept would be late.
std::chrono::nanoseconds Rejoiner::time_left(base::Instant limit) const {
  for (const Call* const call : calls_) limit = std::min(limit, call->deadline);
  return std::chrono::nanoseconds((limit - io::monotonic_now()).ns);
}

}  // namespace infold::rank
