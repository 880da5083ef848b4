// SPDX-License-Identifier: Apache-2.0
#include "python/backend/living.h"

#include "python/backend/backend.h"

namespace infold::pytorch {

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
