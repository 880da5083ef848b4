// SPDX-License-Identifier: Apache-2.0
//
// Counts the allocations of the whole program by replacing its operator new. With this, tests show
// that some code does not allocate.
#pragma once

#include <cstdint>

namespace infold::hostile {

std::uint64_t allocation_count();

}  // namespace infold::hostile
