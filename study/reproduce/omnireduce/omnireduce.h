// SPDX-License-Identifier: Apache-2.0
//
// OmniReduce's micro-benchmark: how time, efficiency and volume of a sparse sum depend on its
// density.
#pragma once

#include <cstdint>
#include <vector>

#include "study/reproduce/report.h"

namespace infold::reproduce {

struct OmnireduceOptions {
  std::uint64_t blocks = 102'400;  // blocks of 256 f32, which are 100 MiB
  // The shares of its blocks that each rank has; empty: all densities of the authors.
  std::vector<double> densities = {};
};

// The authors' figures that depend on the size stand beside ours only at their size.
Report omnireduce(const OmnireduceOptions& options = {}, const Progress& progress = {});

// Returns the share of blocks that at least one of these ranks has, if each rank has this share at
// independent places.
double union_density(double density, std::uint32_t workers);

}  // namespace infold::reproduce
