// SPDX-License-Identifier: Apache-2.0
//
// Tests lines through measurements, and costs as a file.
#include "study/predict/processors.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "study/predict/processors_text.h"

namespace infold::predict {
namespace {

using testing::HasSubstr;

TEST(FitCost, FindsTheLineOfExactMeasurements) {
  const std::vector<ChunkTime> times = {
      {352, 1e-6 + 352e-9}, {704, 1e-6 + 704e-9}, {1376, 1e-6 + 1376e-9}};
  const ChunkCost cost = fit_cost(times);
  EXPECT_NEAR(cost.packet_s, 1e-6, 1e-15);
  EXPECT_NEAR(cost.element_s, 1e-9, 1e-18);
  EXPECT_NEAR(cost.of(1000), 2e-6, 1e-12);
}

TEST(FitCost, MeetsTheMeanOfNoisyMeasurements) {
  base::Prng prng(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<ChunkTime> times;
    double elements = 0;
    double seconds = 0;
    for (const double each : {352.0, 704.0, 1376.0}) {
      times.push_back({each, 1e-9 * static_cast<double>(prng.below(3000))});
      elements += each / 3;
      seconds += times.back().seconds / 3;
    }
    const ChunkCost cost = fit_cost(times);
    EXPECT_GE(cost.packet_s, 0);
    EXPECT_GE(cost.element_s, 0);
    EXPECT_NEAR(cost.of(elements), seconds, 1e-12);
  }
}

TEST(FitCost, OneLengthIsThePacketsAlone) {
  const std::vector<ChunkTime> times = {{352, 1e-6}, {352, 2e-6}};
  EXPECT_EQ(fit_cost(times), (ChunkCost{1.5e-6, 0}));
}

TEST(FitCost, NothingIsBelowZero) {
  // If the time falls with the length, the packet has all of the cost. If it rises from nothing,
  // the elements have all of it.
  EXPECT_EQ(fit_cost(std::vector<ChunkTime>{{100, 3e-6}, {300, 1e-6}}), (ChunkCost{2e-6, 0}));
  const ChunkCost steep = fit_cost(std::vector<ChunkTime>{{100, 0}, {300, 4e-6}});
  EXPECT_EQ(steep.packet_s, 0);
  EXPECT_NEAR(steep.element_s, 1e-8, 1e-15);
  // A difference of measurements may itself be negative.
  EXPECT_EQ(fit_cost(std::vector<ChunkTime>{{100, -1e-6}, {300, -2e-6}}), (ChunkCost{0, 0}));
}

// Half of the chunks are own with 2 ranks, and a quarter with 4.
TEST(FitOwn, FindsTheCostOfExactMeasurements) {
  const std::vector<SummingRank> times = {{2, 0.5 * 2e-6 + 0.5 * 3e-6},
                                          {4, 0.25 * 2e-6 + 0.75 * 3e-6}};
  EXPECT_NEAR(fit_own_s(times, 3e-6), 2e-6, 1e-15);
}

TEST(FitOwn, LiesBetweenMeasurementsThatDisagree) {
  // Separately, they say 1 us and 3 us.
  const std::vector<SummingRank> times = {{2, 0.5 * 1e-6 + 0.5 * 2e-6},
                                          {4, 0.25 * 3e-6 + 0.75 * 2e-6}};
  const double own_s = fit_own_s(times, 2e-6);
  EXPECT_GT(own_s, 1e-6);
  EXPECT_LT(own_s, 2e-6) << "the larger share of own chunks says more";
  EXPECT_EQ(fit_own_s(std::vector<SummingRank>{{2, 1e-6}}, 9e-6), 0) << "not below zero";
}

constexpr const char* kText =
    "# Costs of processors for infold plan: measured\n"
    "rank_packet_ns = 750.000\n"
    "rank_element_ns = 0.820\n"
    "site_packet_ns = 850.000\n"
    "site_element_ns = 0.100\n"
    "own_packet_ns = 600.000\n"
    "own_element_ns = 0.700\n"
    "ring_byte_ns = 0.390\n";

TEST(ProcessorsText, IsReadAsItWasWritten) {
  const auto read = read_processors(kText);
  ASSERT_TRUE(read) << read.error();
  EXPECT_NEAR(read->rank.packet_s, 750e-9, 1e-15);
  EXPECT_NEAR(read->rank.element_s, 0.82e-9, 1e-18);
  EXPECT_NEAR(read->site.packet_s, 850e-9, 1e-15);
  EXPECT_NEAR(read->site.element_s, 0.1e-9, 1e-18);
  EXPECT_NEAR(read->own.packet_s, 600e-9, 1e-15);
  EXPECT_NEAR(read->own.element_s, 0.7e-9, 1e-18);
  EXPECT_NEAR(read->ring_byte_s, 0.39e-9, 1e-18);
  EXPECT_EQ(write_processors(*read, "measured"), kText);
}

TEST(ProcessorsText, OrderSpacesAndCommentsAreFree) {
  const auto read = read_processors(
      "ring_byte_ns=1\r\n\n\t own_element_ns =2 # of a chunk\nown_packet_ns= 3\n"
      "site_element_ns = 4\nsite_packet_ns = 5\nrank_element_ns = 6\nrank_packet_ns = 7");
  ASSERT_TRUE(read) << read.error();
  EXPECT_NEAR(read->rank.packet_s, 7e-9, 1e-18);
  EXPECT_NEAR(read->ring_byte_s, 1e-9, 1e-18);
}

TEST(ProcessorsText, NamesTheLineThatIsWrong) {
  const struct {
    const char* line;
    const char* message;
  } kCases[] = {
      {"rank_packets_ns = 1", "line 9: there is no cost 'rank_packets_ns'"},
      {"hello", "line 9: there is no cost 'hello'"},
      {"\x1b[31m = 1", "line 9: there is no cost '?[31m'"},
      {"own_packet_ns = 1", "line 9: a second own_packet_ns"},
  };
  for (const auto& each : kCases) {
    const auto read = read_processors(std::string(kText) + each.line + "\n");
    ASSERT_FALSE(read) << each.line;
    EXPECT_EQ(read.error(), each.message);
  }
}

TEST(ProcessorsText, RefusesWhatIsNoCost) {
  const struct {
    const char* value;
    const char* message;
  } kCases[] = {
      {"", "line 1: rank_packet_ns is a number from 0 to 1000000, not ''"},
      {"-1", "from 0 to 1000000, not '-1'"},
      {"nan", "not 'nan'"},
      {"inf", "not 'inf'"},
      {"1e3", "not '1e3'"},
      {"750 us", "not '750 us'"},
      {"1000001", "not '1000001'"},
      {"1 = 2", "not '1 = 2'"},
      {"11111111111111111111111111111111111111111111",
       "not '1111111111111111111111111111111111111111...'"},
  };
  for (const auto& each : kCases) {
    const auto read = read_processors(std::string("rank_packet_ns = ") + each.value);
    ASSERT_FALSE(read) << each.value;
    EXPECT_THAT(read.error(), HasSubstr(each.message));
  }
  EXPECT_THAT(read_processors("ring_byte_ns = 10001").error(), HasSubstr("from 0 to 10000"));
}

TEST(ProcessorsText, NamesWhatIsMissing) {
  EXPECT_EQ(read_processors("").error(), "rank_packet_ns is missing");
  std::string text = kText;
  text.erase(text.find("ring_byte_ns"));
  EXPECT_EQ(read_processors(text).error(), "ring_byte_ns is missing");
}

}  // namespace
}  // namespace infold::predict
