// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/delegated_work.h"

#include <mutex>

#include <c10/core/InferenceMode.h>

#include "python/backend/forked.h"
#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

constexpr const char* kAllLive = "check that all ranks of the group run";

}  // namespace

// Copies only once, on the first thread that calls run(). Afterwards, the caller may write its
// tensors.
class DelegatedWork::CopyingBack {
 public:
  explicit CopyingBack(Copies copies) : copies_(std::move(copies)) {}

  void run() {
    std::call_once(done_, [this] {
      const c10::InferenceMode inference;  // the caller's tensors may be of inference mode
      for (const auto& [host, tensor] : copies_) {
        if (host.data_ptr() != tensor.data_ptr()) tensor.copy_(host.view_as(tensor));
      }
    });
  }

 private:
  const Copies copies_;
  std::once_flag done_;
};

DelegatedWork::DelegatedWork(Works work, Copies copies, std::vector<at::Tensor> outputs)
    : back_(std::make_shared<CopyingBack>(std::move(copies))),
      outputs_(std::move(outputs)),
      work_(std::move(work)) {}

DelegatedWork::DelegatedWork(Checked checked, Copies copies, std::vector<at::Tensor> outputs)
    : checked_(std::move(checked)),
      back_(std::make_shared<CopyingBack>(std::move(copies))),
      outputs_(std::move(outputs)) {}

DelegatedWork::~DelegatedWork() = default;

void DelegatedWork::begin() {
  try {
    checked_.check->wait(kNoTimeout);
    Watch::Token watched = checked_.watch->hold();
    Works work = checked_.begin();
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    watched_ = std::move(watched);
    cv_.notify_all();
  } catch (...) {
    finish(std::current_exception());
  }
  checked_.begin = {};
  resolve(/*is_seen=*/true);
}

DelegatedWork::Works DelegatedWork::work() const {
  const std::lock_guard lock(mutex_);
  return work_;
}

// Throws the reason if the call never began.
DelegatedWork::Works DelegatedWork::work_once_begun(std::chrono::milliseconds timeout) {
  // The thread that waits for the check drives the job. begin() reports why a check failed.
  try {
    if (checked_.check) checked_.check->wait(timeout);
  } catch (...) {
    if (!checked_.check->isCompleted()) throw;
  }
  std::unique_lock lock(mutex_);
  const auto is_settled = [this] { return work_ || completed_; };
  if (timeout == kNoTimeout) {
    cv_.wait(lock, is_settled);
  } else if (!cv_.wait_for(lock, timeout, is_settled)) {
    C10_THROW_ERROR(DistBackendError,
                    "infold: Timed out waiting: a call of Gloo's has not begun in time");
  }
  if (exception_) std::rethrow_exception(exception_);
  return work_;
}

bool DelegatedWork::wait(std::chrono::milliseconds timeout) {
  refuse_child(process_);
  const auto end = std::chrono::steady_clock::now() + timeout;
  const Works work = work_once_begun(timeout);
  try {
    work->wait(timeout == kNoTimeout ? timeout : left_until(end));
  } catch (...) {
    if (!checked_.watch) throw;
    // Some failed works of the delegate do not report that they failed.
    const bool is_late = timeout != kNoTimeout && std::chrono::steady_clock::now() >= end;
    if (is_late && !work->isCompleted()) {
      C10_THROW_ERROR(DistBackendError,
                      c10::str("infold: Timed out waiting: ", checked_.name, " is not done after ",
                               timeout.count(), " ms; it goes on"));
    }
    conclude(explain(std::current_exception()));
    std::rethrow_exception(exception());
  }
  conclude({});
  c10::intrusive_ptr<c10::ivalue::Future> future;
  {
    const std::lock_guard lock(mutex_);
    future = future_;
  }
  if (future) future->wait();  // another thread completes it, now
  return true;
}

std::exception_ptr DelegatedWork::explain(const std::exception_ptr& failure) const {
  return checked_.watch->explain(checked_.name, failure, kAllLive);
}

bool DelegatedWork::isCompleted() {
  if (!process_.is_current()) return true;
  if (::c10d::Work::isCompleted()) return is_future_done();
  const Works work = this->work();
  if (!work || !work->isCompleted()) return false;
  std::exception_ptr failure = work->exception();
  if (failure && checked_.watch) {
    failure = checked_.watch->try_explain(checked_.name, failure, kAllLive);
    if (!failure) return false;
  }
  conclude(failure);
  return is_future_done();
}

// After a failure the future may still be open, because the delegate's own future may end later.
bool DelegatedWork::is_future_done() const {
  const std::lock_guard lock(mutex_);
  return !future_ || exception_ || future_->completed();
}

bool DelegatedWork::isSuccess() const {
  if (!process_.is_current()) return false;
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

// Requires: the delegate's call has ended.
void DelegatedWork::conclude(const std::exception_ptr& failure) {
  if (!failure) back_->run();
  if (!::c10d::Work::isCompleted()) finish(failure);
  Watch::Token watched;
  const std::lock_guard lock(mutex_);
  watched.swap(watched_);
}

int DelegatedWork::sourceRank() const {
  const Works work = this->work();
  return work ? work->sourceRank() : -1;
}

void DelegatedWork::abort() {
  if (!process_.is_current()) return;
  if (checked_.watch) {
    checked_.watch->abort("a collective was aborted");
  } else if (const Works work = this->work()) {
    work->abort();
  }
}

c10::intrusive_ptr<c10::ivalue::Future> DelegatedWork::getFuture() {
  refuse_child(process_);
  c10::intrusive_ptr<c10::ivalue::Future> future;
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = !future_;
    if (is_new) {
      std::vector<c10::Device> devices;
      if (!outputs_.empty() && !outputs_.front().device().is_cpu()) {
        devices.push_back(outputs_.front().device());
      }
      future_ = c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()), std::move(devices));
    }
    future = future_;
  }
  if (is_new) resolve(/*is_seen=*/false);
  return future;
}

// Connects the future to the call once the call has begun or failed. It does so only once, and
// without locks that callbacks may need. If no caller has seen the future, it does not have
// callbacks and is completed here. Callbacks never run on the delegate's two threads, which its
// other calls need.
void DelegatedWork::resolve(bool is_seen) {
  std::exception_ptr reason;
  Works work;
  {
    const std::lock_guard lock(mutex_);
    if (!future_ || is_resolved_ || !(work_ || completed_)) return;
    is_resolved_ = true;
    reason = exception_;
    work = work_;
  }
  const auto post = [completions = checked_.completions](Completions::Completion completion) {
    completions ? completions->post(std::move(completion)) : completion();
  };
  if (!work) {
    const auto fail = [future = future_, reason] { future->setError(reason); };
    return is_seen ? post(fail) : fail();
  }
  const auto complete =
      [future = future_, back = back_, outputs = outputs_, checked = checked_,
       self = c10::weak_intrusive_ptr<DelegatedWork>(
           c10::intrusive_ptr<DelegatedWork>::reclaim_copy(this))](std::exception_ptr failure) {
        if (failure && checked.watch) {
          failure = checked.watch->explain(checked.name, failure, kAllLive);
        }
        try {
          if (!failure) back->run();
        } catch (...) {
          failure = std::current_exception();
        }
        // The work ends before its future, so that a thread that sees the future's end also sees
        // the work's.
        if (const auto delegated = self.lock()) delegated->conclude(failure);
        failure ? future->setError(failure) : future->markCompleted(c10::IValue(outputs));
      };
  const auto done = work->getFuture();
  if (!is_seen && done->completed()) return complete(done->exception_ptr());
  done->addCallback([post, complete](c10::ivalue::Future& ended) {
    post([complete, failure = ended.exception_ptr()] { complete(failure); });
  });
}

}  // namespace infold::pytorch
