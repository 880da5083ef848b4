// SPDX-License-Identifier: Apache-2.0
//
// BytePS's shares: n workers and k spare hosts with equal links, and how much of a tensor each
// sums. Its formula, beside the shares and times of infold's planner. Pure.
#pragma once

#include <cstdint>

#include "reproduce/report.h"

namespace infold::reproduce {

// Of n workers and k hosts, 2 <= n and k <= n.
struct BytepsShares {
  double host = 0;    // of each host, as a share of the tensor
  double worker = 0;  // of each worker
  double time = 0;    // in times that a whole tensor takes on one link
};
BytepsShares byteps_shares(std::uint32_t workers, std::uint32_t hosts);

Report byteps();

}  // namespace infold::reproduce
