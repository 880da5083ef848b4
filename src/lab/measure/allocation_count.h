// SPDX-License-Identifier: Apache-2.0
//
// Counts the calling thread's allocations on the heap: this binary has its own operator new. For
// benchmarks that must allocate nothing after setup.
#pragma once

#include <cstdint>

namespace infold::lab {

std::uint64_t allocation_count();

}  // namespace infold::lab
