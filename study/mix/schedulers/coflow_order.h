// SPDX-License-Identifier: Apache-2.0
//
// Orders coflows as Sincronia does (bottleneck, select, scale, iterate), beginning with the last
// place. The most loaded link is the bottleneck. Among the coflows on it, the one with the least
// weight for its load goes last. The weights of the others shrink by what that coflow costs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::mix {

struct LinkLoad {
  std::uint32_t link = 0;
  double time = 0;  // the time that the link needs for the coflow
};

struct Coflow {
  double weight = 1;
  std::vector<LinkLoad> loads;  // at most one for each link
};

// Returns the coflows' indices in the order in which to serve them.
std::vector<std::size_t> coflow_order(std::span<const Coflow> coflows);

}  // namespace infold::mix
