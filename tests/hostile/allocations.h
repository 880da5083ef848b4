// SPDX-License-Identifier: Apache-2.0
//
// Counts allocations of the whole program by replacing operator new in it, to show that none
// happen where none may.
#pragma once

#include <cstdint>

namespace infold::hostile {

std::uint64_t allocation_count();

}  // namespace infold::hostile
