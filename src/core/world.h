// SPDX-License-Identifier: Apache-2.0
//
// How many ranks a job has at most. One aggregator takes INFOLD_WORKERS_MAX children, so that a
// larger job needs racks.
#pragma once

#include <cstdint>

namespace infold::core {

// The nine rows of an exact sum of f32 hold numbers below 2^287 units. 1024 of the largest
// f32, which are 2^277 units less some, fill them. All other formats and fields hold more ranks.
inline constexpr std::uint32_t kWorldMax = 1024;

}  // namespace infold::core
