// SPDX-License-Identifier: Apache-2.0
//
// Searches a short list for the best fit.
#include "rank/calls/scratch_pool.h"

#include <algorithm>
#include <utility>

namespace infold::rank {
namespace {

// Programs rarely have more calls in flight than this. If more buffers are free, the smallest is
// freed.
constexpr std::size_t kFreeMax = 32;
// A buffer larger than this many times the request is kept for a call that needs it.
constexpr std::size_t kWasteFactorMax = 4;
// Buffer sizes are multiples of this, so that tensors of similar sizes can share buffers.
constexpr std::size_t kGranule = 4096;

}  // namespace

ScratchPool::ScratchPool() { free_.reserve(kFreeMax + 1); }

Scratch ScratchPool::take(std::size_t bytes) {
  const std::size_t wanted = (bytes / kGranule + 1) * kGranule;
  base::MutexLock lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const bool fits = it->capacity >= bytes && it->capacity / kWasteFactorMax <= wanted;
    if (fits && (best == free_.end() || it->capacity < best->capacity)) best = it;
  }
  if (best == free_.end()) {
    lock.unlock();
    return {std::make_unique_for_overwrite<std::byte[]>(wanted), wanted};
  }
  Scratch scratch = std::move(*best);
  *best = std::move(free_.back());
  free_.pop_back();
  return scratch;
}

void ScratchPool::give_back(Scratch scratch) noexcept {
  if (scratch.capacity == 0) return;
  const base::MutexLock lock(mutex_);
  free_.push_back(std::move(scratch));
  if (free_.size() <= kFreeMax) return;
  const auto smallest =
      std::min_element(free_.begin(), free_.end(),
                       [](const Scratch& a, const Scratch& b) { return a.capacity < b.capacity; });
  *smallest = std::move(free_.back());
  free_.pop_back();
}

std::size_t ScratchPool::memory_bytes() const {
  const base::MutexLock lock(mutex_);
  std::size_t bytes = 0;
  for (const Scratch& scratch : free_) bytes += scratch.capacity;
  return bytes;
}

}  // namespace infold::rank
