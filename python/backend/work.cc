// SPDX-License-Identifier: Apache-2.0
#include "python/backend/work.h"

#include <algorithm>
#include <utility>

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>

#include "python/backend/forked.h"
#include "python/backend/group_job.h"

namespace infold::pytorch {

void wait_for_end(::c10d::Work& work) {
  try {
    work.wait(kNoTimeout);
  } catch (const std::exception&) {
  }
}

std::chrono::milliseconds left_until(Time end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

std::exception_ptr exception_of(const Error& error) {
  // Uses torch's wording, which schedulers and torch's own tests look for.
  const bool is_late = error.code == Code::deadline_exceeded || error.code == Code::pending;
  std::string text = "infold: " + std::string(is_late ? "Timed out waiting: " : "") + error.message;
  if (error.code == Code::mismatch && text.find("barrier") != std::string::npos) {
    text += " (what Gloo does for infold shows as a barrier here)";
  }
  return std::make_exception_ptr(c10::DistBackendError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, std::move(text)));
}

bool Recipe::blocks() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const Step& step) { return step.before || step.calls; });
}

Work::Work(int rank, std::uint64_t sequence, Recipe recipe, std::weak_ptr<GroupJob> job,
           std::shared_ptr<Completions> completions)
    : ::c10d::Work(rank, recipe.type, recipe.title, recipe.inputs),
      recipe_(std::move(recipe)),
      sequence_(sequence),
      job_(std::move(job)),
      completions_(std::move(completions)),
      outputs_(recipe_.outputs),
      output_lists_(recipe_.output_lists) {}

Work::~Work() = default;

std::optional<std::string> Work::start(Communicator& communicator, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    begins_ = true;
  }
  std::optional<std::string> reason;
  try {
    reason = begin_steps(communicator, stop);
  } catch (...) {
    first_failure_ = std::current_exception();
    reason = "a tensor could not be brought from its device";
    for (Handle& handle : handles_) handle.cancel();
  }
  const std::lock_guard lock(mutex_);
  started_ = true;
  cv_.notify_all();
  return reason;
}

// Returns no reason if all ranks find the failure themselves: a mismatch of compressions, or a job
// that is over.
std::optional<std::string> Work::begin_steps(Communicator& communicator,
                                             const std::stop_token& stop) {
  for (const Step& step : recipe_.steps) {
    if (step.before) step.before();
    if (!step.calls) {
      handles_.push_back(step.call(communicator));
      continue;
    }
    try {
      if (const Result<void> made = step.calls(communicator, stop); !made) {
        first_failure_ = exception_of(made.error());
        if (made.error().code == Code::mismatch || communicator.failure()) return std::nullopt;
        return made.error().message;
      }
    } catch (const std::exception& error) {  // from a compressor in Python
      first_failure_ = std::current_exception();
      return error.what();
    }
    handles_.emplace_back();
  }
  return std::nullopt;
}

void Work::fail(const std::exception_ptr& reason) {
  Recipe spent;  // destroyed without locks, because a tensor's last owner may need the interpreter
  {
    const base::MutexLock lock(steps_mutex_);
    if (!has_ended()) spent = end_with(reason);
  }
  resolve();
}

void Work::run_alone() {
  std::exception_ptr reason;
  try {
    if (recipe_.staging) {
      recipe_.staging->follow_current();
      if (recipe_.alone) recipe_.staging->then(recipe_.alone);
      end_ = recipe_.staging->end();
    } else if (recipe_.alone) {
      recipe_.alone();
    }
  } catch (...) {
    reason = std::current_exception();
  }
  fail(reason);
}

bool Work::is_started() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

bool Work::has_ended() const {
  const std::lock_guard lock(mutex_);
  return completed_;
}

void Work::conclude() {
  conclude_calls();
  resolve();
}

void Work::conclude_calls() {
  for (const c10::intrusive_ptr<Work>& each : recipe_.predecessors) {
    each->conclude();
    each->wait_on_host();
  }
  for (const c10::intrusive_ptr<::c10d::Work>& each : recipe_.delegated) wait_for_end(*each);
  {
    std::unique_lock lock(mutex_);
    cv_.wait(lock, [this] { return started_ || completed_; });
    if (completed_) return;
  }
  for (const Handle& handle : handles_) {
    static_cast<void>(handle.wait());
    advance();
  }
  advance();
}

// Does the actions that follow the calls which have ended, in their order.
void Work::advance() {
  Recipe spent;
  {
    const base::MutexLock lock(steps_mutex_);
    if (has_ended() || !is_started()) return;
    for (; steps_done_ < handles_.size() && handles_[steps_done_].test(); ++steps_done_) {
      if (!recipe_.steps[steps_done_].calls) {
        const Result<Completion> result = handles_[steps_done_].wait();
        if (!result && !first_failure_) first_failure_ = exception_of(result.error());
      }
      if (!first_failure_) attempt(recipe_.steps[steps_done_].after);
    }
    if (steps_done_ < handles_.size()) return;
    if (!first_failure_ && recipe_.staging) attempt([this] { end_ = recipe_.staging->end(); });
    spent = end_with(first_failure_);
  }
}

// May run on any thread. Writes tensors that the caller may write, such as those of inference mode.
void Work::attempt(const std::function<void()>& action) {
  if (!action) return;
  const c10::InferenceMode inference;
  try {
    action();
  } catch (...) {
    first_failure_ = std::current_exception();
  }
}

// Returns the parts that are no longer needed. The caller destroys them without locks.
Recipe Work::end_with(const std::exception_ptr& reason) {
  Recipe spent;
  spent.steps.swap(recipe_.steps);
  spent.inputs.swap(recipe_.inputs);
  spent.alone.swap(recipe_.alone);
  if (recipe_.recorded) Recorder::of_process().note_end(*recipe_.recorded);
  finish(reason);
  return spent;
}

bool Work::isCompleted() {
  if (!process_.is_current()) return true;
  for (const c10::intrusive_ptr<Work>& each : recipe_.predecessors) {
    if (!each->isCompleted()) return false;
  }
  for (const c10::intrusive_ptr<::c10d::Work>& each : recipe_.delegated) {
    if (!each->isCompleted()) return false;
  }
  if (!has_ended() && is_started()) advance();
  if (!has_ended()) return false;
  resolve();
  if (!is_future_done()) return false;
  const std::shared_ptr<c10::Event> end = this->end();
  return !end || recipe_.staging->has_happened(*end);
}

bool Work::isSuccess() const {
  if (!process_.is_current()) return false;
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

std::optional<Time> Work::end_of_time() const {
  if (recipe_.timeout.count() <= 0) return std::nullopt;
  return called_ + recipe_.timeout;
}

std::exception_ptr Work::too_late_after(std::chrono::milliseconds timeout) const {
  return std::make_exception_ptr(c10::DistBackendError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)},
      c10::str("infold: Timed out waiting ", timeout.count(), "ms for ", recipe_.title,
               " to begin: the group's ranks are still joining")));
}

void Work::wait_to_begin(std::chrono::milliseconds timeout, Time end) {
  std::unique_lock lock(mutex_);
  if (cv_.wait_until(lock, end, [this] { return started_ || completed_; })) return;
  if (!begins_) std::rethrow_exception(too_late_after(timeout));
  std::rethrow_exception(exception_of(
      {Code::pending,
       c10::str(recipe_.title, " is not done after ", timeout.count(), " ms; it goes on"), -1,
       ""}));
}

bool Work::wait(std::chrono::milliseconds timeout) {
  refuse_child(process_);
  const auto begin = std::chrono::steady_clock::now();
  if (timeout.count() > 0) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    for (const c10::intrusive_ptr<Work>& each : recipe_.predecessors) each->wait(left_until(end));
    for (const c10::intrusive_ptr<::c10d::Work>& each : recipe_.delegated) {
      each->wait(left_until(end));
    }
    wait_to_begin(timeout, end);
    const bool runs = !has_ended();
    for (std::size_t i = 0; runs && i < handles_.size(); ++i) {
      const auto result = handles_[i].wait_for(end - std::chrono::steady_clock::now());
      if (!result && result.error().code == Code::pending) {
        std::rethrow_exception(exception_of(result.error()));
      }
    }
  }
  conclude();
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (future) future->wait();  // another thread completes it, now
  {
    const std::lock_guard lock(mutex_);
    if (exception_) std::rethrow_exception(exception_);
  }
  if (recipe_.recorded) Recorder::of_process().note_wait(*recipe_.recorded, begin);
  // The host has waited for the calls. The caller's stream still has to wait for the copies of the
  // results.
  if (const std::shared_ptr<c10::Event> end = this->end()) recipe_.staging->make_current_wait(*end);
  return true;
}

// PyTorch calls this only after the end. An earlier call waits.
void Work::synchronize() { wait(kNoTimeout); }

void Work::blockCurrentStream() {
  // The base class waits for the future, but copies to the device may still be running then.
  recipe_.staging ? static_cast<void>(wait(kNoTimeout)) : ::c10d::Work::blockCurrentStream();
}

std::shared_ptr<c10::Event> Work::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

void Work::wait_on_host() {
  if (const std::shared_ptr<c10::Event> end = this->end()) recipe_.staging->wait_on_host(*end);
}

void Work::abort() {
  if (!process_.is_current()) return;
  if (const std::shared_ptr<GroupJob> job = job_.lock()) {
    job->close("a collective was aborted");
  }
}

std::vector<at::Tensor> Work::result() {
  const std::lock_guard lock(mutex_);
  return outputs_;
}

std::vector<c10::Device> Work::devices() const {
  if (!recipe_.staging) return {};
  return {recipe_.staging->device()};
}

// A list of lists if there are several lists, as in Gloo's works.
c10::IValue Work::value() const {
  return output_lists_.size() > 1 ? c10::IValue(output_lists_) : c10::IValue(outputs_);
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  refuse_child(process_);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = !future_;
    if (is_new) {
      future_ = c10::make_intrusive<c10::ivalue::Future>(value().type(), devices());
    }
    future = future_;
  }
  if (!is_new) return future;
  if (const Completions::Completion completion = take_completion()) {
    completion();  // the future is new, so no callback runs here
  } else if (!has_ended()) {
    completions_->follow(c10::intrusive_ptr<Work>::reclaim_copy(this));
  }
  return future;
}

bool Work::is_future_done() const {
  const std::lock_guard lock(mutex_);
  return !future_ || future_->completed();
}

// The completion of an ended work's future, or nothing if another caller has taken it. Call it
// without locks that callbacks may need.
Completions::Completion Work::take_completion() {
  const std::lock_guard lock(mutex_);
  if (!completed_ || !future_ || std::exchange(is_resolved_, true)) return {};
  if (exception_) return [future = future_, reason = exception_] { future->setError(reason); };
  return [future = future_, end = end_, staging = recipe_.staging, value = value()] {
    // A device's future takes the current stream's position as its end.
    std::optional<c10::StreamGuard> on_stream;
    if (end) on_stream.emplace(staging->stream());
    future->markCompleted(value);
  };
}

void Work::resolve() {
  if (Completions::Completion completion = take_completion()) {
    completions_->post(std::move(completion));
  }
}

}  // namespace infold::pytorch
