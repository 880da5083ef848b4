// SPDX-License-Identifier: Apache-2.0
//
// Compares the formula with the loads of all links, and the planner with the formula.
#include "study/reproduce/byteps/byteps.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace infold::reproduce {
namespace {

// A host receives its share from each worker. A worker sends its tensor except its own share, and
// sends the results of its share to the others.
TEST(BytepsShares, MakeAllLinksEquallyBusy) {
  for (std::uint32_t n = 2; n <= 8; ++n) {
    for (std::uint32_t k = 0; k <= n; ++k) {
      const BytepsShares shares = byteps_shares(n, k);
      EXPECT_NEAR(k * shares.host + n * shares.worker, 1, 1e-12) << n << " and " << k;
      const double worker_link = 1 + (n - 2) * shares.worker;
      EXPECT_NEAR(worker_link, shares.time, 1e-12) << n << " and " << k;
      if (k > 0) {
        EXPECT_NEAR(n * shares.host, shares.time, 1e-12) << n << " and " << k;
      }
    }
  }
}

TEST(BytepsShares, HaveTheRingAndTheServersAsEnds) {
  EXPECT_DOUBLE_EQ(byteps_shares(8, 0).time, 1.75);
  EXPECT_DOUBLE_EQ(byteps_shares(8, 8).time, 1);
  EXPECT_DOUBLE_EQ(byteps_shares(8, 8).worker, 0);
  // 64 + 16 - 4 = 76, by hand.
  EXPECT_DOUBLE_EQ(byteps_shares(8, 2).host, 14.0 / 76);
  EXPECT_DOUBLE_EQ(byteps_shares(8, 2).worker, 6.0 / 76);
}

TEST(Byteps, ThePlannerReachesTheFormula) {
  const Report report = byteps();
  for (const Target& target : report.targets) EXPECT_TRUE(target.is_met) << target.text;
  // All pairs of n = 2 to 8 and k = 0 to n have a time. Pairs with a host also have a share.
  EXPECT_EQ(std::count_if(report.figures.begin(), report.figures.end(),
                          [](const Figure& each) { return each.unit == "tensor times"; }),
            3 + 4 + 5 + 6 + 7 + 8 + 9);
  EXPECT_EQ(report.figures.size(), 42U + 35U);
}

}  // namespace
}  // namespace infold::reproduce
