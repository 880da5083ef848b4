// SPDX-License-Identifier: Apache-2.0
//
// Zeros for memory that is long and not needed soon.
#pragma once

#include <cstddef>

namespace infold::numeric {

// A core's own cache may hold less than this, and what it holds is soon written again.
constexpr std::size_t kPastCachesBytes = std::size_t{1} << 20;

// As memset to 0. Long memory is written past the caches: they could not keep it, and lines that
// are fetched only to be overwritten cost more than half of the time.
void clear(std::byte* bytes, std::size_t count);

}  // namespace infold::numeric
