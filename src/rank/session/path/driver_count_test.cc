// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/driver_count.h"

#include <gtest/gtest.h>

namespace infold::rank {
namespace {

TEST(DriverCount, FollowsTheLinkAsFarAsProcessorsAndSitesGo) {
  EXPECT_EQ(automatic_drivers({10'000, 64, 1, 16}), 1);
  EXPECT_EQ(automatic_drivers({25'000, 64, 1, 16}), 3);
  EXPECT_EQ(automatic_drivers({100'000, 64, 1, 16}), 8);
  EXPECT_EQ(automatic_drivers({100'000, 64, 1, 4}), 4) << "sites";
  EXPECT_EQ(automatic_drivers({100'000, 64, 8, 16}), 4) << "eight ranks of a host";
  EXPECT_EQ(automatic_drivers({100'000, 2, 1, 16}), 1) << "processors";
  EXPECT_EQ(automatic_drivers({100'000, 4, 8, 16}), 1) << "more ranks than processors";
  EXPECT_EQ(automatic_drivers({0, 64, 1, 16}), 1) << "an interface that does not say";
}

}  // namespace
}  // namespace infold::rank
