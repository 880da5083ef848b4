// SPDX-License-Identifier: Apache-2.0
#include "study/measure/cost/spread.h"

#include <gtest/gtest.h>

namespace infold::measure {
namespace {

TEST(Spread, OneSampleHasDistanceZero) {
  const Spread spread = spread_of({7});
  EXPECT_EQ(spread.median, 7);
  EXPECT_EQ(spread.mad, 0);
}

TEST(Spread, OneWildSampleChangesNeither) {
  const Spread spread = spread_of({1000, 10, 12, 8, 11});
  EXPECT_EQ(spread.median, 11);
  EXPECT_EQ(spread.mad, 1);
}

TEST(Spread, AnEvenCountTakesTheHigherOfTheTwoInTheMiddle) {
  EXPECT_EQ(spread_of({4, 1, 3, 2}).median, 3);
}

}  // namespace
}  // namespace infold::measure
