// SPDX-License-Identifier: Apache-2.0
//
// Asks for memory before it is needed. A chunk of a tensor is too short for a processor to guess
// what comes after, and waiting for its first lines took as long as all else that is done with it.
// Asking never faults, so that any address and length may be asked for.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/aligned.h"

namespace infold::core {

// More would drive out what is in use.
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
