// SPDX-License-Identifier: Apache-2.0
#include "plan/driver_shares.h"

#include <bit>

#include <gtest/gtest.h>

namespace infold::plan {
namespace {

using Shares = std::vector<core::SiteSet>;

Plan plan_of(const std::vector<std::uint16_t>& weights) {
  Plan plan;
  plan.world = 2;
  for (const std::uint16_t weight : weights) plan.trees.push_back(flat_tree(2, weight));
  return plan;
}

TEST(DriverShares, EachSiteHasOneDriverAndEachDriverASite) {
  for (std::uint32_t sites = 1; sites <= 64; ++sites) {
    const Plan plan = plan_of(std::vector<std::uint16_t>(sites, 1));
    for (std::uint32_t drivers = 1; drivers <= 9; ++drivers) {
      const Shares shares = driver_shares(plan, drivers);
      ASSERT_EQ(shares.size(), std::min(drivers, sites));
      core::SiteSet all = 0;
      for (const core::SiteSet share : shares) {
        EXPECT_NE(share, 0U);
        EXPECT_EQ(all & share, 0U);
        all |= share;
      }
      EXPECT_EQ(std::popcount(all), static_cast<int>(sites));
    }
  }
}

TEST(DriverShares, WeightsAreEven) {
  EXPECT_EQ(driver_shares(plan_of({1, 1, 1, 3}), 2), (Shares{0b1000, 0b0111}));
  EXPECT_EQ(driver_shares(plan_of({1, 1, 1, 1}), 2), (Shares{0b0101, 0b1010}));
}

TEST(DriverShares, TheOwnSiteHasADriverToItself) {
  EXPECT_EQ(driver_shares(plan_of({1, 1, 1, 1}), 2, 2), (Shares{0b0100, 0b1011}));
  EXPECT_EQ(driver_shares(plan_of({1, 1, 1, 1}), 3, 0), (Shares{0b0001, 0b1010, 0b0100}));
  EXPECT_EQ(driver_shares(plan_of({1, 1}), 1, 0), (Shares{0b11}));
}

}  // namespace
}  // namespace infold::plan
