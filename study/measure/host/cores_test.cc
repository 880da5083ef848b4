// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/cores.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace infold::measure {
namespace {

TEST(Cores, PositionsOfHardwareThreadsFollowTheKernelsLists) {
  EXPECT_EQ(thread_of_core("3", 3), 0U);
  EXPECT_EQ(thread_of_core("0,8", 0), 0U);
  EXPECT_EQ(thread_of_core("0,8", 8), 1U);
  EXPECT_EQ(thread_of_core("6-7", 6), 0U);
  EXPECT_EQ(thread_of_core("6-7", 7), 1U);
  EXPECT_EQ(thread_of_core("0-1,64-65", 65), 3U);
}

TEST(Cores, AListThatTheKernelDoesNotGiveChangesNoOrder) {
  EXPECT_EQ(thread_of_core("", 5), 0U);
  EXPECT_EQ(thread_of_core("0,8", 5), 0U);
  EXPECT_EQ(thread_of_core("x-,", 5), 0U);
}

TEST(Cores, SpreadingKeepsEachProcessorOnce) {
  std::vector<int> spread = spread_cores();
  std::ranges::sort(spread);
  EXPECT_EQ(spread, own_cores());
}

}  // namespace
}  // namespace infold::measure
