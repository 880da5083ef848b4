// SPDX-License-Identifier: Apache-2.0
//
// BytePS divides a tensor over n workers and k spare hosts with equal links. This compares its
// formula with the shares and times of infold's planner. Pure.
#pragma once

#include <cstdint>

#include "study/reproduce/report.h"

namespace infold::reproduce {

// For n workers and k hosts, where 2 <= n and k <= n.
struct BytepsShares {
  double host = 0;    // for each host, as a share of the tensor
  double worker = 0;  // for each worker
  double time = 0;    // in units of the time that a whole tensor takes on one link
};
BytepsShares byteps_shares(std::uint32_t workers, std::uint32_t hosts);

Report byteps();

}  // namespace infold::reproduce
