// SPDX-License-Identifier: Apache-2.0
//
// A member's Call objects, used again and again, and the memory in which they stage results. Calls
// stay where they are until the pool's end. Any thread may call anything.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "rank/calls/call.h"
#include "rank/calls/scratch_pool.h"

namespace infold::rank {

class CallPool {
 public:
  explicit CallPool(Member& member) : member_(member) {}

  // A new one.
  Call& acquire() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return all_.emplace_back(member_, scratch_);
    Call& call = *free_.back();
    free_.pop_back();
    call.reset();
    return call;
  }
  // Requires: finished, and nobody will ask for it again.
  void recycle(Call& call) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&call);
  }

 private:
  Member& member_;
  // Shared with results whose memory comes back to it (rows_memory.h).
  std::shared_ptr<ScratchPool> scratch_ = std::make_shared<ScratchPool>();
  std::mutex mutex_;
  std::deque<Call> all_;
  std::vector<Call*> free_;
};

}  // namespace infold::rank
