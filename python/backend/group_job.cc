// SPDX-License-Identifier: Apache-2.0
#include "python/backend/group_job.h"

#include <algorithm>
#include <pthread.h>
#include <utility>

namespace infold::pytorch {
namespace {

constexpr const char* kShutDown = "it was shut down";

std::string closed_text(const std::string& why) { return "the process group was closed: " + why; }

std::exception_ptr closed_because(const std::string& why) {
  return exception_of({Code::aborted, closed_text(why), -1, ""});
}

// The thread itself may call this, because it may be a tensor's last owner.
void end_thread(std::thread& thread) {
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace

void GroupJob::submit(const c10::intrusive_ptr<Work>& work) {
  std::exception_ptr closed;
  std::vector<c10::intrusive_ptr<Work>> ended;
  {
    const base::MutexLock lock(mutex_);
    ended = take_ended();
    closed = closed_;
    if (!closed) {
      if (communicator_ && waiting_.empty() && !begins_ && !work->blocks()) {
        unfinished_.push_back(work);
        work->start(*communicator_, stop_.get_token());
        return;
      }
      // std::thread throws if the process cannot have another thread. The call then fails and never
      // begins.
      if (!beginner_.joinable()) {
        beginner_ = std::thread([this] { begin_works(); });
        pthread_setname_np(beginner_.native_handle(), "infold-begin");
      }
      if (!communicator_) limit_joining(*work);
      unfinished_.push_back(work);
      waiting_.push_back(work);
      changed_.notify_all();
    }
  }
  if (closed) work->fail(closed);
}

void GroupJob::limit_joining(const Work& work) {
  const std::optional<Time> end = work.end_of_time();
  if (!end || (joining_end_ && *joining_end_ <= *end)) return;
  if (!limiter_.joinable()) {
    limiter_ = std::thread([this] { end_joining_late(); });
    pthread_setname_np(limiter_.native_handle(), "infold-limit");
  }
  joining_end_ = end;
  too_late_ = work.too_late();
}

void GroupJob::end_joining_late() {
  base::MutexLock lock(mutex_);
  const auto has_settled = [this]() REQUIRES(mutex_) { return communicator_ || closed_; };
  while (!has_settled() && std::chrono::steady_clock::now() < *joining_end_) {
    changed_.wait_until(lock, Time(*joining_end_));
  }
  if (has_settled()) return;
  closed_ = too_late_;
  why_over_ = "a call's time ran out while the group's ranks were joining";
  has_failed_ = true;
  std::deque<c10::intrusive_ptr<Work>> lost;
  lost.swap(waiting_);
  const std::exception_ptr closed = closed_;
  changed_.notify_all();
  lock.unlock();
  stop_.request_stop();
  for (const auto& work : lost) work->fail(closed);
}

void GroupJob::begin_works() {
  Result<Communicator> joined = join_(stop_.get_token());
  base::MutexLock lock(mutex_);
  if (!joined) {
    if (!closed_) {
      closed_ = exception_of(joined.error());
      why_over_ = joined.error().message;
      has_failed_ = true;
    }
  } else if (!closed_) {
    communicator_ = std::make_shared<Communicator>(std::move(*joined));
    changed_.notify_all();
  }
  for (;;) {
    while (waiting_.empty() && !closed_) changed_.wait(lock);
    if (closed_) break;
    const c10::intrusive_ptr<Work> work = std::move(waiting_.front());
    waiting_.pop_front();
    begins_ = true;
    const std::shared_ptr<Communicator> communicator = communicator_;
    lock.unlock();
    const std::optional<std::string> reason = work->start(*communicator, stop_.get_token());
    lock.lock();
    begins_ = false;
    if (!reason) continue;
    // The other ranks wait for this rank's tensor. Leaving the job tells them that it will not
    // come.
    if (!closed_) {
      closed_ = closed_because(*reason);
      has_failed_ = true;
    }
    communicator_.reset();
  }
  std::deque<c10::intrusive_ptr<Work>> lost;
  lost.swap(waiting_);
  const std::exception_ptr closed = closed_;
  lock.unlock();
  for (const auto& work : lost) work->fail(closed);
}

// The caller destroys them without the lock, because a tensor's last owner may need the
// interpreter.
std::vector<c10::intrusive_ptr<Work>> GroupJob::take_ended() {
  std::vector<c10::intrusive_ptr<Work>> ended;
  while (!unfinished_.empty() && unfinished_.front()->has_ended()) {
    ended.push_back(std::move(unfinished_.front()));
    unfinished_.pop_front();
  }
  return ended;
}

std::vector<c10::intrusive_ptr<Work>> GroupJob::unfinished() {
  const base::MutexLock lock(mutex_);
  return {unfinished_.begin(), unfinished_.end()};
}

void GroupJob::drain() {
  // Ranks that have not joined the job by now are not waited for.
  if (communicator()) {
    for (const c10::intrusive_ptr<Work>& work : unfinished()) work->conclude();
  }
  close(kShutDown);
}

void GroupJob::close(const std::string& why) {
  stop_.request_stop();
  const std::optional<std::string> why_over = this->why_over();
  std::deque<c10::intrusive_ptr<Work>> lost;
  std::deque<c10::intrusive_ptr<Work>> begun;
  std::shared_ptr<Communicator> communicator;
  std::thread beginner;
  std::thread limiter;
  std::exception_ptr closed;
  {
    const base::MutexLock lock(mutex_);
    if (!closed_) {
      closed_ = closed_because(why);
      why_over_ = why_over;
      if (!why_over_ && why != kShutDown) why_over_ = closed_text(why);
    }
    closed = closed_;
    lost.swap(waiting_);
    begun.swap(unfinished_);
    communicator.swap(communicator_);
    beginner.swap(beginner_);
    limiter.swap(limiter_);
    changed_.notify_all();
  }
  end_thread(beginner);
  end_thread(limiter);
  for (const auto& work : lost) work->fail(closed);
  communicator.reset();  // ends the calls in flight
  for (const auto& work : begun) {
    if (!work->has_ended()) work->conclude();
  }
}

std::shared_ptr<Communicator> GroupJob::communicator() {
  const base::MutexLock lock(mutex_);
  return communicator_;
}

std::optional<Statistics> GroupJob::statistics() {
  const auto communicator = this->communicator();
  return communicator ? std::optional(communicator->statistics()) : std::nullopt;
}

std::string GroupJob::interface() {
  const auto communicator = this->communicator();
  return communicator ? communicator->interface() : std::string();
}

bool GroupJob::has_lost() {
  const auto communicator = this->communicator();
  if (!communicator) return false;
  const std::optional<Error> failure = communicator->failure();
  return failure && failure->code == Code::unavailable;
}

std::optional<std::string> GroupJob::why_over() {
  if (const auto communicator = this->communicator()) {
    if (std::optional<Error> failure = communicator->failure()) return std::move(failure->message);
  }
  const base::MutexLock lock(mutex_);
  return why_over_;
}

void GroupJob::ask(std::chrono::nanoseconds deadline) {
  CallOptions options;
  options.deadline = deadline;
  if (const auto communicator = this->communicator()) {
    static_cast<void>(communicator->barrier(options).wait());
  }
}

bool GroupJob::has_joined() { return communicator() != nullptr; }

bool GroupJob::has_failed() {
  if (why_over()) return true;
  const base::MutexLock lock(mutex_);
  return has_failed_;
}

}  // namespace infold::pytorch
