// SPDX-License-Identifier: Apache-2.0
//
// Counts what the calling thread takes from the heap, by replacing operator new in this binary.
// For benchmarks that claim to take nothing after setup.
#pragma once

#include <cstdint>

namespace infold::lab {

std::uint64_t allocation_count();

}  // namespace infold::lab
