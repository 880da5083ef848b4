// SPDX-License-Identifier: Apache-2.0
//
// The Call objects of a member, which are reused, and the memory in which they stage results. Calls
// keep their addresses until the pool is destroyed. Any thread may call any method.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "rank/call.h"
#include "rank/calls/scratch_pool.h"

namespace infold::rank {

class CallPool {
 public:
  explicit CallPool(Member& member) : member_(member) {}

  // A call that has not begun.
  Call& acquire() {
    const base::MutexLock lock(mutex_);
    if (free_.empty()) return all_.emplace_back(member_, scratch_);
    Call& call = *free_.back();
    free_.pop_back();
    call.reset();
    return call;
  }
  // Requires: the call has finished, and nobody will ask for its result again.
  void recycle(Call& call) {
    const base::MutexLock lock(mutex_);
    free_.push_back(&call);
  }

 private:
  Member& member_;
  // Shared with results, which return their memory to it (rows_memory.h).
  std::shared_ptr<ScratchPool> scratch_ = std::make_shared<ScratchPool>();
  base::Mutex mutex_;
  std::deque<Call> all_ GUARDED_BY(mutex_);
  std::vector<Call*> free_ GUARDED_BY(mutex_);
};

}  // namespace infold::rank
