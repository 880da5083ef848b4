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

#include "wire/infold_wire.h"

namespace infold::core {

class Stripe {
 public:
  static constexpr std::uint32_t kSitesMax = INFOLD_SITES_MAX;
  static constexpr std::uint32_t kWeightMax = 64;

  // Requires: 1 to 64 weights, each 1 to 64.
  explicit Stripe(std::span<const std::uint16_t> weights);

  // Walks the chunks of one site in order. Stepping takes no division, which would cost as much
  // as a packet's header.
  struct Cursor {
    std::uint64_t period_start = 0;
    std::uint32_t turn = 0;
  };
  std::uint64_t chunk_at(std::uint32_t site, const Cursor& cursor) const {
    return cursor.period_start + turns_[site][cursor.turn];
  }
  void step(std::uint32_t site, Cursor& cursor) const {
    if (++cursor.turn < turns_[site].size()) return;
    cursor.turn = 0;
    cursor.period_start += period_;
  }

  // Which site a chunk belongs to, and how many of that site's chunks come before it. A division.
  struct Place {
    std::uint32_t site = 0;
    std::uint64_t before = 0;
  };
  Place place_of(std::uint64_t chunk) const;
  std::uint64_t count_before(std::uint32_t site, const Cursor& cursor) const {
    return cursor.period_start / period_ * turns_[site].size() + cursor.turn;
  }
  // How many of a site's chunks come before this one, whose site may be another. A division.
  std::uint64_t count_before(std::uint32_t site, std::uint64_t chunk) const;

 private:
  std::uint64_t period_ = 0;
  std::vector<std::vector<std::uint16_t>> turns_;  // of each site: its places in the pattern
  std::vector<Place> places_;                      // the inverse: of each place in the pattern
};

}  // namespace infold::core
