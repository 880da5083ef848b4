// SPDX-License-Identifier: Apache-2.0
//
// Counts the allocations of the whole program by replacing operator new in it. Tests show with it
// that some code allocates nothing.
#pragma once

#include <cstdint>

namespace infold::hostile {

std::uint64_t allocation_count();

}  // namespace infold::hostile
