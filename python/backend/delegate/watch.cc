// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/watch.h"

#include <algorithm>
#include <optional>
#include <pthread.h>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "python/backend/delegate/messages.h"
#include "python/backend/interpreter.h"
#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

// The longest delay between a rank's loss and the reaction. A check holds a lock for less than 1
// us.
constexpr auto kLookEvery = std::chrono::milliseconds(20);
// The job learns of a rank's death at the same time as the delegate, but on another thread, which a
// busy machine may delay.
constexpr auto kPatience = std::chrono::seconds(10);
// A barrier that is made sooner could be paired with another rank's call, and cause a mismatch at
// both.
constexpr auto kAskAfter = std::chrono::seconds(2);

// The delegate's message without its source line and without its guesses.
std::string sentence_of(const char* what) {
  std::string text = what;
  if (text.front() == '[') text.erase(0, std::min(text.size(), text.find("] ") + 2));
  return "Gloo says: " + text.substr(0, text.find(". "));
}

std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const c10::Error& error) {
    return sentence_of(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return sentence_of(error.what());
  }
}

// Whether the delegate waited for a rank in vain. The job does not know more about that.
bool is_timeout(const std::string& text) { return text.find("Timed out") != std::string::npos; }

std::exception_ptr failure_with(const std::string& text) {
  return std::make_exception_ptr(c10::DistBackendError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "infold: " + text));
}

}  // namespace

Watch::Watch(std::shared_ptr<GroupJob> job, c10::intrusive_ptr<::c10d::Backend> delegate)
    : job_(std::move(job)), delegate_(std::move(delegate)) {}

Watch::Token Watch::hold() {
  const base::MutexLock lock(mutex_);
  if (!has_ended_ && !thread_.joinable()) {
    thread_ = std::thread([this] { run(); });  // end() joins it
    pthread_setname_np(thread_.native_handle(), "infold-watch");
  }
  ++under_way_;
  changed_.notify_all();
  return {nullptr, [self = shared_from_this()](void*) {
            if (!self->process_.is_current()) return;
            const base::MutexLock released(self->mutex_);
            --self->under_way_;
          }};
}

Watch::Token Watch::when_broken(std::function<void()> listener) {
  base::MutexLock lock(mutex_);
  if (is_broken_ || has_ended_) {
    lock.unlock();
    listener();
    return {};
  }
  const std::uint64_t number = next_listener_++;
  listeners_.emplace(number, std::move(listener));
  return {nullptr, [self = shared_from_this(), number](void*) {
            if (!self->process_.is_current()) return;
            const base::MutexLock released(self->mutex_);
            self->listeners_.erase(number);
          }};
}

void Watch::run() {
  base::MutexLock lock(mutex_);
  while (!has_ended_ && !is_broken_) {
    if (under_way_ == 0) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kLookEvery);
    const std::shared_ptr<GroupJob> job = job_;
    if (!job) return;
    lock.unlock();
    if (job->has_lost()) break_delegate();
    lock.lock();
  }
}

// The delegate closes its connections after a wait that times out, and there is no other way to
// make it do so. No rank sends the message that this waits for.
void Watch::break_delegate() {
  c10::intrusive_ptr<::c10d::Backend> delegate;
  std::map<std::uint64_t, std::function<void()>> listeners;
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(is_broken_, true)) return;
    delegate = delegate_;
    listeners.swap(listeners_);
    changed_.notify_all();
  }
  if (!delegate) return;
  try {
    std::vector<at::Tensor> nothing = {at::empty({1}, at::kByte)};
    delegate->recvAnysource(nothing, kTagOfNobody)->wait(std::chrono::milliseconds(1));
  } catch (const std::exception&) {
  }
  for (const auto& [number, listener] : listeners) listener();
}

void Watch::abort(const std::string& why) {
  if (const std::shared_ptr<GroupJob> job = this->job()) job->close(why);
  break_delegate();
}

std::shared_ptr<GroupJob> Watch::job() {
  const base::MutexLock lock(mutex_);
  return job_;
}

bool Watch::may_turn_out(const std::string& said) {
  if (is_timeout(said)) return false;
  const auto now = std::chrono::steady_clock::now();
  const base::MutexLock lock(mutex_);
  if (patience_end_ == std::chrono::steady_clock::time_point()) patience_end_ = now + kPatience;
  return now < patience_end_;
}

// Only a call learns that a rank has left in good order.
void Watch::ask_once() {
  std::shared_ptr<GroupJob> job;
  {
    const base::MutexLock lock(mutex_);
    if (!std::exchange(has_asked_, true)) job = job_;
  }
  if (job) job->ask(kPatience - kAskAfter);
}

std::exception_ptr Watch::explain(const std::string& call, const std::exception_ptr& failure,
                                  const std::string& advice) {
  const auto begun = std::chrono::steady_clock::now();
  for (;;) {
    if (std::exception_ptr explained = try_explain(call, failure, advice)) return explained;
    if (std::chrono::steady_clock::now() - begun > kAskAfter) ask_once();
    base::MutexLock lock(mutex_);
    changed_.wait_for(lock, kLookEvery);
  }
}

std::exception_ptr Watch::try_explain(const std::string& call, const std::exception_ptr& failure,
                                      const std::string& advice) {
  const Released released = release_interpreter();
  const std::string said = text_of(failure);
  const std::shared_ptr<GroupJob> job = this->job();
  // This is asked first, because break_delegate() would cause a reason of its own.
  const std::optional<std::string> why = job ? job->why_over() : std::nullopt;
  break_delegate();
  if (why) return failure_with(call + ": " + *why);
  if (job && job->has_joined() && may_turn_out(said)) return nullptr;
  // The other ranks wait for this rank's part. Leaving the job tells them that it will not come.
  if (job) job->close(call + " failed");
  return failure_with(call + ": " + said + "; " + advice + "; the group is over, make a new one");
}

void Watch::end() {
  std::shared_ptr<GroupJob> job;
  c10::intrusive_ptr<::c10d::Backend> delegate;
  std::map<std::uint64_t, std::function<void()>> listeners;
  std::thread thread;
  {
    const base::MutexLock lock(mutex_);
    has_ended_ = true;
    job.swap(job_);
    delegate.swap(delegate_);
    listeners.swap(listeners_);
    thread.swap(thread_);
    changed_.notify_all();
  }
  for (const auto& [number, listener] : listeners) listener();
  if (thread.joinable()) thread.join();
}

}  // namespace infold::pytorch
