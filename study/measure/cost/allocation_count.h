// SPDX-License-Identifier: Apache-2.0
//
// Counts the calling thread's allocations on the heap, through this binary's own operator new. For
// benchmarks that must not allocate after setup.
#pragma once

#include <cstdint>

namespace infold::measure {

std::uint64_t allocation_count();

}  // namespace infold::measure
