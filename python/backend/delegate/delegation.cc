// SPDX-License-Identifier: Apache-2.0
#include "python/backend/delegate/delegation.h"

#include <pthread.h>
#include <utility>

namespace infold::pytorch {

void Delegation::prepare() {
  const base::MutexLock lock(mutex_);
  if (has_ended_ || thread_.joinable()) return;
  // The thread shares ownership, because a callback of the last call may destroy this object.
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
  pthread_setname_np(thread_.native_handle(), "infold-delegate");
}

void Delegation::submit(const c10::intrusive_ptr<DelegatedWork>& work) {
  {
    const base::MutexLock lock(mutex_);
    if (!has_ended_) {
      waiting_.push_back(work);
      changed_.notify_all();
      return;
    }
  }
  work->begin();  // fails at once, because the group and the check have ended
}

void Delegation::run() {
  base::MutexLock lock(mutex_);
  for (;;) {
    while (waiting_.empty() && !has_ended_) changed_.wait(lock);
    if (waiting_.empty()) return;
    c10::intrusive_ptr<DelegatedWork> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work->begin();
    work.reset();  // without the lock, because a tensor's last owner may need the interpreter
    lock.lock();
  }
}

void Delegation::end() {
  std::thread thread;
  {
    const base::MutexLock lock(mutex_);
    has_ended_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (!thread.joinable()) return;
  // The thread itself may come here, if a callback destroys the group.
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace infold::pytorch
