// SPDX-License-Identifier: Apache-2.0
//
// The order of coflows that Sincronia finds (bottleneck, select, scale, iterate): the last place is
// decided first. The most loaded link is the bottleneck. Of the coflows on it, the one with the
// least weight for its load goes last. The others' weights shrink by what that coflow costs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::mix {

struct LinkLoad {
  std::uint32_t link = 0;
  double time = 0;  // that the link needs for the coflow
};

struct Coflow {
  double weight = 1;
  std::vector<LinkLoad> loads;  // at most one of each link
};

// Returns the coflows' indices, the first one to be served first.
std::vector<std::size_t> coflow_order(std::span<const Coflow> coflows);

}  // namespace infold::mix
