// SPDX-License-Identifier: Apache-2.0
//
// The striping pattern is smooth weighted round robin. At each place every site earns its weight as
// credit, and the site with the most credit takes the chunk and pays the sum of the weights.
#include "core/stripe.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace infold::core {

Stripe::Stripe(std::span<const std::uint16_t> weights) : turns_(weights.size()) {
  CHECK(!weights.empty());
  CHECK_THAT(weights.size(), <=, kSitesMax);
  std::uint32_t divisor = 0;
  for (const std::uint16_t weight : weights) {
    CHECK_THAT(weight, >=, 1);
    CHECK_THAT(weight, <=, kWeightMax);
    divisor = std::gcd(divisor, std::uint32_t{weight});
  }
  for (const std::uint16_t weight : weights) period_ += weight / divisor;

  std::vector<std::int64_t> credit(weights.size());
  for (std::uint64_t place = 0; place < period_; ++place) {
    std::size_t taker = 0;
    for (std::size_t site = 0; site < weights.size(); ++site) {
      credit[site] += weights[site] / divisor;
      if (credit[site] > credit[taker]) taker = site;
    }
    credit[taker] -= static_cast<std::int64_t>(period_);
    places_.push_back({static_cast<std::uint32_t>(taker), turns_[taker].size()});
    turns_[taker].push_back(static_cast<std::uint16_t>(place));
  }
}

Stripe::Place Stripe::place_of(std::uint64_t chunk) const {
  const Place& first = places_[chunk % period_];
  return {first.site, chunk / period_ * turns_[first.site].size() + first.before};
}

std::uint64_t Stripe::count_before(std::uint32_t site, std::uint64_t chunk) const {
  const std::vector<std::uint16_t>& turns = turns_[site];
  const auto later = std::lower_bound(turns.begin(), turns.end(), chunk % period_);
  return chunk / period_ * turns.size() + static_cast<std::uint64_t>(later - turns.begin());
}

}  // namespace infold::core
