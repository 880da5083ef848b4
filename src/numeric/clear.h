// SPDX-License-Identifier: Apache-2.0
//
// Sets memory to zeros. It is meant for long memory that is not needed soon.
#pragma once

#include <cstddef>

namespace infold::numeric {

// From this length on, stores bypass the caches. A core's own cache may be smaller, and its lines
// would soon be evicted.
constexpr std::size_t kPastCachesBytes = std::size_t{1} << 20;

// Does the same as memset to 0, but stores to long memory bypass the caches, which could not hold
// it. Fetching lines only to overwrite them would take more than half of the time.
void clear(std::byte* bytes, std::size_t count);

}  // namespace infold::numeric
