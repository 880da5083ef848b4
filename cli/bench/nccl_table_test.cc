// SPDX-License-Identifier: Apache-2.0

#include "cli/bench/nccl_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(NcclTable, MultipliesSizesByTheFactor) {
  EXPECT_THAT(*(NcclSizes{.low = 8, .high = 64, .step_factor = 2}.all()),
              ElementsAre(8, 16, 32, 64));
  // The largest size is an upper bound, so the list need not contain it.
  EXPECT_THAT(*(NcclSizes{.low = 8, .high = 100, .step_factor = 4}.all()), ElementsAre(8, 32));
}

TEST(NcclTable, AddsBytesWithoutAFactor) {
  EXPECT_THAT(*(NcclSizes{.low = 8, .high = 32, .step_bytes = 10}.all()), ElementsAre(8, 18, 28));
  EXPECT_THAT(*(NcclSizes{.low = 4, .high = 3U << 20}.all()),
              ElementsAre(4, (1U << 20) + 4, (2U << 20) + 4));
  EXPECT_THAT(*(NcclSizes{.low = 8, .high = 12, .step_bytes = 4, .step_factor = 1}.all()),
              ElementsAre(8, 12));
}

TEST(NcclTable, TakesOneBoundForBoth) {
  EXPECT_THAT(*(NcclSizes{.low = 8}.all()), ElementsAre(8));
  EXPECT_THAT(*(NcclSizes{.high = 4096, .step_factor = 2}.all()), ElementsAre(4096));
  EXPECT_THAT(*(NcclSizes{.step_factor = 2}.all()), ElementsAre(32U << 20));
  EXPECT_FALSE(NcclSizes{}.are_wanted());
  EXPECT_TRUE(NcclSizes{.step_factor = 2}.are_wanted());
}

TEST(NcclTable, RefusesImpossibleBounds) {
  EXPECT_THAT((NcclSizes{.low = 64, .high = 8}.all().error()),
              HasSubstr("--minbytes 64B is more than --maxbytes 8B"));
  EXPECT_THAT((NcclSizes{.low = 4, .high = 1U << 30, .step_bytes = 4}.all().error()),
              HasSubstr("more than 10000 sizes"));
}

TEST(NcclTable, CountsBusBytesAsARingDoes) {
  const NcclSpeed speed = nccl_speed(1'000'000'000, 0.5, 4);
  EXPECT_DOUBLE_EQ(speed.algorithm, 2);
  EXPECT_DOUBLE_EQ(speed.bus, 3);
  EXPECT_DOUBLE_EQ(nccl_speed(1'000'000'000, 0.5, 2).bus, 2);
  EXPECT_DOUBLE_EQ(nccl_speed(1'000'000'000, 0.5, 1).bus, 0);  // as nccl-tests prints it
}

// Rows contain the words that programs expect, and columns stand below their names.
TEST(NcclTable, WritesRowsOfThirteenColumns) {
  const NcclHalf apart = {12.346e-6, {0.5, 0.75}, 0};
  const NcclHalf in_place = {123'456e-6, {12.34, 18.51}, 3};
  const std::string row = nccl_row(1048576, 262144, "float", "sum", apart, in_place);
  EXPECT_EQ(row,
            "     1048576        262144     float     sum      -1    12.35    0.50    0.75      0"
            "   123456   12.34   18.51      3\n");
  const std::string head = nccl_head();
  EXPECT_THAT(head, StartsWith("#"));
  EXPECT_EQ(head.find("busbw") + 5 - head.rfind('\n', head.find("busbw")) - 1,
            row.find("0.75") + 4);
  const NcclHalf unchecked = {123.456e-6, {0, 0}, std::nullopt};
  EXPECT_THAT(nccl_row(8, 2, "float", "sum", unchecked, unchecked),
              HasSubstr("  123.5    0.00    0.00    N/A"));
}

TEST(NcclTable, EndsWithTheMeanOfAllHalves) {
  EXPECT_EQ(nccl_tail(0, {0.5, 1.0}),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.75\n");
  EXPECT_EQ(nccl_tail(7, {}), "# Out of bounds values : 7 FAILED\n# Avg bus bandwidth    : 0\n");
}

}  // namespace
}  // namespace infold::cli
