// SPDX-License-Identifier: Apache-2.0
//
// Decides which site sums which chunk of a stream. A fixed pattern gives each site the
// share of its weight, spread as evenly as possible, and continues from tensor to tensor. Every
// worker computes the same pattern from the same weights, so nothing has to be agreed at run time.
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

  // Walks the chunks of one site in order. Stepping avoids a division, which would cost as much as
  // reading a packet's header.
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

  // Finds the site of a chunk, and how many of that site's chunks come before it. Takes a division.
  struct Place {
    std::uint32_t site = 0;
    std::uint64_t before = 0;
  };
  Place place_of(std::uint64_t chunk) const;
  std::uint64_t count_before(std::uint32_t site, const Cursor& cursor) const {
    return cursor.period_start / period_ * turns_[site].size() + cursor.turn;
  }
  // Returns how many of a site's chunks come before this chunk, which may belong to another site.
  // Takes a division.
  std::uint64_t count_before(std::uint32_t site, std::uint64_t chunk) const;

 private:
  std::uint64_t period_ = 0;
  std::vector<std::vector<std::uint16_t>> turns_;  // for each site: its places in the pattern
  std::vector<Place> places_;                      // the inverse: for each place in the pattern
};

}  // namespace infold::core
