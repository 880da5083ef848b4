// SPDX-License-Identifier: Apache-2.0
#include "plan/driver_shares.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace infold::plan {
namespace {

struct Share {
  core::SiteSet sites = 0;
  std::uint32_t weight = 0;
};

}  // namespace

// Assigns the heaviest sites first, each to the driver that has the least weight so far.
std::vector<core::SiteSet> driver_shares(const Plan& plan, std::uint32_t drivers,
                                         std::optional<std::uint8_t> own_site) {
  CHECK_THAT(drivers, >=, 1U);
  const std::size_t sites = plan.trees.size();
  std::vector<Share> shares(std::min<std::size_t>(drivers, sites));
  std::vector<std::size_t> order(sites);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&plan](std::size_t a, std::size_t b) {
    const std::uint16_t one = plan.trees[a].weight, other = plan.trees[b].weight;
    return one != other ? one > other : a < b;
  });
  const bool sets_own_apart = own_site && shares.size() > 1;
  if (sets_own_apart) shares.front().sites = core::SiteSet{1} << *own_site;
  for (const std::size_t site : order) {
    if (sets_own_apart && site == *own_site) continue;
    const auto least =
        std::min_element(shares.begin() + (sets_own_apart ? 1 : 0), shares.end(),
                         [](const Share& a, const Share& b) { return a.weight < b.weight; });
    least->sites |= core::SiteSet{1} << site;
    least->weight += plan.trees[site].weight;
  }
  std::vector<core::SiteSet> sets;
  for (const Share& share : shares) sets.push_back(share.sites);
  return sets;
}

}  // namespace infold::plan
