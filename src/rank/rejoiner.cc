// SPDX-License-Identifier: Apache-2.0
#include "rank/rejoiner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/digest.h"
#include "io/host/clock.h"

namespace infold::rank {
namespace {

// How long one try to join lasts. Ranks notice the loss within moments of each other and then try
// repeatedly, so that the tries of all ranks overlap. A communicator that is destroyed meanwhile
// waits no longer than this.
constexpr std::chrono::nanoseconds kTry = std::chrono::seconds(2);

// Whether another try would end the same way.
bool is_final(const Error& error) {
  return error.code == Code::mismatch || error.code == Code::invalid_argument;
}

}  // namespace

Rejoiner::Rejoiner(Owner& owner, Rejoin rejoin, std::chrono::nanoseconds patience)
    : owner_(owner), rejoin_(std::move(rejoin)), patience_(patience), thread_([this] { run(); }) {}

bool Rejoiner::add(Call& call, const CallRequest& request) {
  RejoinRecord& record = call.rejoin;
  record.list_.assign(request.list.begin(), request.list.end());
  record.request_ = request;
  record.request_.list = record.list_;
  const base::MutexLock lock(mutex_);
  const bool is_kept = state_ == State::away;
  kept_ += is_kept ? 1 : 0;
  calls_.push_back({&call, ++last_order_, is_kept});
  return is_kept;
}

void Rejoiner::remove(Call& call) {
  const base::MutexLock lock(mutex_);
  const auto place = find(call);
  if (place == calls_.end()) return;
  kept_ -= place->is_kept ? 1 : 0;
  calls_.erase(place);
  // While the job is present, the thread sleeps and should not wake up for every call.
  if (state_ == State::away) changed_.notify_all();
}

bool Rejoiner::keep(Call& call) {
  const base::MutexLock lock(mutex_);
  if (state_ == State::over) return false;
  changed_.notify_all();
  if (!call.launch.outline().input_survives) {
    state_ = State::over;
    why_over_ = "a call in place without keep_input cannot be made again";
    return false;
  }
  const auto place = find(call);
  CHECK(place != calls_.end());
  state_ = State::away;
  kept_ += std::exchange(place->is_kept, true) ? 0 : 1;
  return true;
}

bool Rejoiner::keeps(const Call& call) {
  const base::MutexLock lock(mutex_);
  const auto place = find(call);
  return place != calls_.end() && place->is_kept;
}

void Rejoiner::note_lost_switch() {
  const base::MutexLock lock(mutex_);
  if (state_ == State::present) state_ = State::away;
  changed_.notify_all();
}

void Rejoiner::give_up(const std::string& why) {
  const base::MutexLock lock(mutex_);
  if (state_ != State::over) why_over_ = why;
  state_ = State::over;
  changed_.notify_all();
}

void Rejoiner::close() {
  give_up("this rank has left the job");
  if (thread_.joinable()) thread_.join();
}

std::vector<Call*> Rejoiner::come_back() {
  const base::MutexLock lock(mutex_);
  if (state_ == State::over) return {};
  state_ = State::present;
  kept_ = 0;
  std::vector<Call*> again;
  for (Unfinished& each : calls_) {
    each.is_kept = false;
    again.push_back(each.call);
  }
  return again;
}

void Rejoiner::run() {
  base::MutexLock lock(mutex_);
  while (state_ != State::over) {
    while (state_ == State::present) changed_.wait(lock);
    if (state_ == State::over) break;
    lock.unlock();
    const std::optional<std::string> failed = join_again();
    if (failed) give_up(*failed);
    lock.lock();
  }
  std::vector<Call*> kept;
  for (const Unfinished& each : calls_) {
    if (each.is_kept) kept.push_back(each.call);
  }
  const std::string why = why_over_;
  lock.unlock();
  for (Call* const call : kept) owner_.fail_kept(*call, why);
}

// Returns nothing once the job is back, otherwise why it is not.
std::optional<std::string> Rejoiner::join_again() {
  const base::Instant limit = io::monotonic_now() + base::Duration{patience_.count()};
  std::string why;
  base::MutexLock lock(mutex_);
  // Every call in flight hears of the end, and only then is it known which calls are finished.
  while (kept_ != calls_.size() && state_ != State::over) changed_.wait(lock);
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
    changed_.wait_for(lock, rejoin_.pause,
                      [this]() REQUIRES(mutex_) { return state_ == State::over; });
  }
  return why_over_;
}

std::vector<Rejoiner::Unfinished>::iterator Rejoiner::find(const Call& call) {
  return std::find_if(calls_.begin(), calls_.end(),
                      [&call](const Unfinished& each) { return each.call == &call; });
}

CallHistory Rejoiner::history() const {
  const std::uint64_t finished = calls_.empty() ? last_order_ : calls_.front().order - 1;
  if (finished + calls_.size() == last_order_) return {finished, 0};
  base::Digest digest;
  std::size_t next = 0;
  for (std::uint64_t order = finished + 1; order <= last_order_; ++order) {
    if (next < calls_.size() && calls_[next].order == order) {
      ++next;
    } else {
      digest.add(order);
    }
  }
  return {finished, digest.value()};
}

// The time until the first kept call would miss its deadline.
std::chrono::nanoseconds Rejoiner::time_left(base::Instant limit) const {
  for (const Unfinished& each : calls_) limit = std::min(limit, each.call->deadline());
  return std::chrono::nanoseconds((limit - io::monotonic_now()).ns);
}

}  // namespace infold::rank
