// SPDX-License-Identifier: Apache-2.0
#include "compress/steering/kept_share.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace infold::compress {
namespace {

std::optional<float> share(const std::vector<float>& tensor, const std::vector<float>& sent,
                           bool averages_out = false) {
  KeptShare kept;
  kept.add(tensor, sent);
  return kept.share(averages_out);
}

TEST(KeptShare, IsTheKeptPartOfTheSquares) {
  EXPECT_EQ(share({3, 4, 0, 0, 0}, {0, 4, 0, 0, 0}), 0.64F);
  EXPECT_EQ(share({3, 4}, {3, 4}), 1);
  EXPECT_EQ(share({3, 4}, {0, 0}), 0);
  KeptShare both;
  both.add(std::vector<float>{3}, std::vector<float>{0});
  both.add(std::vector<float>{4}, std::vector<float>{4});
  EXPECT_EQ(both.share(false), 0.64F);
}

// The error may be larger than the tensor. If it averages out, something is left of the step.
TEST(KeptShare, LargeErrors) {
  EXPECT_EQ(share({1, 0}, {0, 1}), 0);
  EXPECT_EQ(share({1, 0}, {1, 1}, true), 0.5F);
}

TEST(KeptShare, IsUnknownForWhatHasNone) {
  EXPECT_FALSE(share({0, 0}, {0, 0}));
  EXPECT_FALSE(share({}, {}));
  EXPECT_FALSE(share({std::numeric_limits<float>::infinity(), 1}, {0, 0}));
  EXPECT_FALSE(share({std::numeric_limits<float>::quiet_NaN(), 1}, {0, 0}));
}

}  // namespace
}  // namespace infold::compress
