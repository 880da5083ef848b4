// SPDX-License-Identifier: Apache-2.0
//
// Which site sums which chunk of a stream: a fixed pattern that gives each site its
// weight's share, as evenly spread as can be, and runs on over tensors. Every worker computes the
// same pattern from the same weights; nothing is agreed at run time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::core {

class Stripe {
 public:
  static constexpr std::uint32_t kSitesMax = 64;
  static constexpr std::uint32_t kWeightMax = 64;

  // Requires: 1 to 64 weights, each 1 to 64.
  explicit Stripe(std::span<const std::uint16_t> weights);

  // The stream's chunk that is the site's chunk number `sequence`, both counted from 0.
  std::uint64_t chunk_at(std::uint32_t site, std::uint64_t sequence) const {
    const std::vector<std::uint16_t>& turns = turns_[site];
    return sequence / turns.size() * period_ + turns[sequence % turns.size()];
  }

 private:
  std::uint64_t period_ = 0;
  std::vector<std::vector<std::uint16_t>> turns_;  // of each site: its places in the pattern
};

}  // namespace infold::core
