// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/lag/lag_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/emulate/lag/lag.h"
#include "trace/testing.h"

namespace infold::emulate {
namespace {

using ::testing::HasSubstr;
using trace::CollectiveKind;

std::string fault(std::string_view text, std::uint32_t ranks = 3) {
  const auto table = LagTable::read(text, ranks);
  return table ? "none" : table.error();
}

TEST(LagTable, HasARowForEachTransferAndBeginsAgain) {
  const auto table = LagTable::read("# rank 0, 1, 2\n0, 10, 2.5\n\n0,0,30 # a pause\r\n", 3);
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(table->size(), 2U);
  EXPECT_EQ(table->of(1, 1), base::microseconds(10));
  EXPECT_EQ(table->of(2, 1).ns, 2500);
  EXPECT_EQ(table->of(2, 2), base::microseconds(30));
  EXPECT_EQ(table->of(1, 3), base::microseconds(10));
}

TEST(LagTable, NamesItsFaults) {
  EXPECT_THAT(fault("0,1,2\n0,,2\n"), HasSubstr("line 2, rank 1: '' is not a number"));
  EXPECT_THAT(fault("0,1\n"), HasSubstr("line 1 has 2 numbers, and there are 3 ranks"));
  EXPECT_THAT(fault("0,1,2,3\n"), HasSubstr("line 1 has 4 numbers"));
  EXPECT_THAT(fault("0,-1,2\n"), HasSubstr("rank 1: '-1'"));
  EXPECT_THAT(fault("0,nan,2\n"), HasSubstr("'nan'"));
  EXPECT_THAT(fault("0,1e9,2\n"), HasSubstr("60000000"));
  EXPECT_THAT(fault("0,1x,2\n"), HasSubstr("'1x'"));
  EXPECT_THAT(fault("# nothing\n"), HasSubstr("no line"));
}

TEST(LagTable, OfARunIsHowMuchLaterRanksWere) {
  std::vector<trace::Trace> traces(3, trace::small_trace());
  traces[1].nodes[1].start_us += 40;
  traces[2].nodes[3].start_us -= 20;
  const auto table = LagTable::of_run(traces, 3);
  ASSERT_TRUE(table) << table.error();
  ASSERT_EQ(table->size(), 2U);
  EXPECT_EQ(table->of(1, 1), base::microseconds(40));
  EXPECT_EQ(table->of(1, 2).ns, 0);
  EXPECT_EQ(table->of(2, 2).ns, 0) << "it was earlier";
  EXPECT_THAT(LagTable::of_run(traces, 4).error(), HasSubstr("traces of 3 ranks"));
}

TEST(LagTable, CallsInPartsAreATransferForEachRank) {
  std::vector<trace::Trace> traces(4);
  for (trace::Trace& each : traces) {
    each.nodes = {trace::collective_node(1, CollectiveKind::all_gather, 64, 100, 5),
                  trace::collective_node(2, CollectiveKind::all_reduce, 64, 200, 5)};
  }
  traces[3].nodes[1].start_us = 230;
  const auto table = LagTable::of_run(traces, 4);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->size(), 5U);
  EXPECT_EQ(table->of(3, 4).ns, 0);
  EXPECT_EQ(table->of(3, 5), base::microseconds(30));
}

TEST(Lag, AddsTableDistributionAndStragglers) {
  Lag lag;
  EXPECT_EQ(lag.of(1, 2, 1).ns, 0);
  lag.table = LagTable::read("0,0,7\n", 3).value();
  lag.always[2] = base::microseconds(100);
  EXPECT_EQ(lag.of(1, 2, 9), base::microseconds(107));
  EXPECT_EQ(lag.of(1, 1, 9).ns, 0);
}

}  // namespace
}  // namespace infold::emulate
