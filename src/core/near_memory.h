// SPDX-License-Identifier: Apache-2.0
//
// Prefetches memory before it is needed. A chunk of a tensor is too short for the processor's own
// prefetcher, and waiting for its first lines took as long as all other work on the chunk. A
// prefetch never faults, so any address and length are allowed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/aligned.h"

namespace infold::core {

// Prefetching more would evict cache lines that are in use.
constexpr std::size_t kNearBytesMax = 2048;

inline void bring_near(const std::byte* first, std::size_t bytes) {
  const std::size_t most = std::min(bytes, kNearBytesMax);
  for (std::size_t i = 0; i < most; i += base::kCacheLineBytes) __builtin_prefetch(first + i);
}

inline void bring_near_for_writing(const std::byte* first, std::size_t bytes) {
  const std::size_t most = std::min(bytes, kNearBytesMax);
  for (std::size_t i = 0; i < most; i += base::kCacheLineBytes) __builtin_prefetch(first + i, 1);
}

}  // namespace infold::core
