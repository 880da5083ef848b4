// SPDX-License-Identifier: Apache-2.0
//
// The largest number of ranks in a job. One aggregator takes INFOLD_WORKERS_MAX children, so a
// larger job needs racks.
#pragma once

#include <cstdint>

namespace infold::core {

// The nine rows of an exact sum of f32 hold numbers below 2^287 units. The largest f32 is
// just below 2^277 units, so 1024 of them fill the rows. All other formats and fields have room for
// more ranks.
inline constexpr std::uint32_t kWorldMax = 1024;

}  // namespace infold::core
