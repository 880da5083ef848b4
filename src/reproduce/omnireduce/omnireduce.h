// SPDX-License-Identifier: Apache-2.0
//
// OmniReduce's micro-benchmark: time, efficiency and volume of a sparse sum against its density.
#pragma once

#include <cstdint>
#include <vector>

#include "reproduce/report.h"

namespace infold::reproduce {

struct OmnireduceOptions {
  std::uint64_t blocks = 102'400;  // of 256 f32: 100 MiB
  // Shares of its blocks that each rank has; empty: all that the authors have.
  std::vector<double> densities = {};
};

// Figures of the authors that depend on the size stand beside ours only at their size.
Report omnireduce(const OmnireduceOptions& options = {});

// The share of blocks that at least one of these ranks has, each with this share at places of its
// own.
double union_density(double density, std::uint32_t workers);

}  // namespace infold::reproduce
