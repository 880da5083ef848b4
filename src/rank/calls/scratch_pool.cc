// SPDX-License-Identifier: Apache-2.0
//
// Best fit over a short list.
#include "rank/calls/scratch_pool.h"

#include <algorithm>
#include <utility>

namespace infold::rank {
namespace {

// More free buffers than any program has calls in flight for long; beyond it the smallest goes.
constexpr std::size_t kFreeMax = 32;
// A buffer this much larger than asked for stays for a call that needs it.
constexpr std::size_t kWasteFactorMax = 4;
// Tensors of nearby sizes share buffers that are multiples of this.
constexpr std::size_t kGranule = 4096;

}  // namespace

ScratchPool::ScratchPool() { free_.reserve(kFreeMax + 1); }

Scratch ScratchPool::take(std::size_t bytes) {
  const std::size_t wanted = (bytes / kGranule + 1) * kGranule;
  std::unique_lock lock(mutex_);
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
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(scratch));
  if (free_.size() <= kFreeMax) return;
  const auto smallest =
      std::min_element(free_.begin(), free_.end(),
                       [](const Scratch& a, const Scratch& b) { return a.capacity < b.capacity; });
  *smallest = std::move(free_.back());
  free_.pop_back();
}

std::size_t ScratchPool::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const Scratch& scratch : free_) bytes += scratch.capacity;
  return bytes;
}

}  // namespace infold::rank
