// SPDX-License-Identifier: Apache-2.0
//
// Zeros for memory that is long and not needed soon.
#pragma once

#include <cstddef>

namespace infold::numeric {

// As memset to 0. Long memory is written past the caches: they could not keep it, and lines that
// are fetched only to be overwritten cost more than half of the time.
void clear(std::byte* bytes, std::size_t count);

}  // namespace infold::numeric
