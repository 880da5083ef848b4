// SPDX-License-Identifier: Apache-2.0
#include "python/backend/living.h"

#include <pthread.h>

#include "python/backend/backend.h"

namespace infold::pytorch {

// A fork takes the lock, so that no other thread holds it when the child begins.
Living::Living() {
  // clang cannot follow a lock that one function takes and another one releases.
  const auto before = []() NO_THREAD_SAFETY_ANALYSIS { all().mutex_.lock(); };
  const auto in_parent = []() NO_THREAD_SAFETY_ANALYSIS { all().mutex_.unlock(); };
  // Both processes release it.
  const auto in_child = []() NO_THREAD_SAFETY_ANALYSIS {
    all().backends_.clear();
    all().mutex_.unlock();
  };
  pthread_atfork(before, in_parent, in_child);
}

Living& Living::all() {
  static Living living;
  return living;
}

void Living::add(Backend* backend) {
  const base::MutexLock lock(mutex_);
  backends_.insert(backend);
}

void Living::remove(Backend* backend) {
  const base::MutexLock lock(mutex_);
  backends_.erase(backend);
}

void Living::close() {
  for (;;) {
    c10::intrusive_ptr<Backend> backend;
    {
      const base::MutexLock lock(mutex_);
      if (backends_.empty()) return;
      backend = c10::intrusive_ptr<Backend>::reclaim_copy(*backends_.begin());
      backends_.erase(backends_.begin());
    }
    backend->leave();
  }
}

}  // namespace infold::pytorch
