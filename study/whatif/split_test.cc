// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/split.h"

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace infold::whatif {
namespace {

using trace::CollectiveKind;
using trace::Trace;

// The rank computes until it calls. It computes for another 30 us after the call's end at 180 us.
Trace one_step(std::uint64_t called_at) {
  Trace trace;
  trace.nodes = {
      trace::compute_node(1, 0, called_at),
      trace::collective_node(2, CollectiveKind::all_reduce, 64, called_at, 180 - called_at, {1}),
      trace::compute_node(3, 180, 30, {1}, {2})};
  return trace;
}

std::vector<std::vector<Step>> steps(const std::vector<Trace>& traces) {
  std::vector<const Trace*> addresses;
  for (const Trace& each : traces) addresses.push_back(&each);
  return steps_of(addresses);
}

TEST(Split, TellsWaitingForRanksFromCommunication) {
  const auto ranks = steps({one_step(100), one_step(150)});
  ASSERT_EQ(ranks.size(), 2U);
  ASSERT_EQ(ranks[0].size(), 1U);
  EXPECT_EQ(ranks[0][0].segments, (std::vector<Segment>{{Doing::computes, 0, 100},
                                                        {Doing::waits, 100, 150},
                                                        {Doing::communicates, 150, 180},
                                                        {Doing::computes, 180, 210}}));
  EXPECT_EQ(ranks[1][0].us(Doing::waits), 0U);
  EXPECT_EQ(ranks[1][0].us(Doing::communicates), 30U);
  const Split split = split_of(ranks);
  EXPECT_DOUBLE_EQ(split.step_us, 210);
  EXPECT_DOUBLE_EQ(split.compute_us, 155);
  EXPECT_DOUBLE_EQ(split.exposed_us, 30);
  EXPECT_DOUBLE_EQ(split.waiting_us, 25);
}

TEST(Split, ComputeHidesCalls) {
  const auto ranks = steps({trace::small_trace()});
  ASSERT_EQ(ranks[0].size(), 1U);
  EXPECT_EQ(ranks[0][0].us(), 150U);
  EXPECT_EQ(ranks[0][0].us(Doing::computes), 90U);
  EXPECT_EQ(ranks[0][0].us(Doing::communicates), 60U);
}

TEST(Split, TakesTheStepOfMedianLength) {
  Trace trace;
  std::uint64_t at = 0;
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::uint64_t us = step == 1 ? 900 : 100 + static_cast<std::uint64_t>(step);
    trace.nodes.push_back(trace::compute_node(static_cast<std::uint64_t>(step) + 1, at, us));
    trace.nodes.back().attributes = {trace::make_attribute("step", step)};
    at += us;
  }
  const auto ranks = steps({trace});
  ASSERT_EQ(ranks[0].size(), 3U);
  EXPECT_DOUBLE_EQ(split_of(ranks).step_us, 102);
}

// Nodes after the last call of step() form only a part of a step. A node without a number does not
// belong to any step.
TEST(Split, CountsStepsThatTheTraceEnds) {
  Trace trace;
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto number = static_cast<std::uint64_t>(step);
    trace.nodes.push_back(trace::compute_node(2 * number + 1, 100 * number, 100));
    trace.nodes.back().attributes = {trace::make_attribute("step", step)};
    if (step == 2) break;
    trace::Node end = trace::compute_node(2 * number + 2, 100 * number, 100);
    end.type = trace::NodeType::metadata;
    end.name = "step";
    end.attributes = {trace::make_attribute("step", step)};
    trace.nodes.push_back(end);
  }
  trace.nodes.push_back(trace::compute_node(9, 300, 5));
  const auto ranks = steps({trace});
  ASSERT_EQ(ranks[0].size(), 2U);
  EXPECT_EQ(ranks[0][0].us(), 100U);
  EXPECT_EQ(ranks[0][1].us(), 100U);
}

// In that case nobody knows which nodes belong to a step.
TEST(Split, TakesTheWholeTraceIfOnlyEndsHaveNumbers) {
  Trace trace;
  trace.nodes = {trace::compute_node(1, 0, 100), trace::compute_node(2, 100, 0)};
  trace.nodes[1].type = trace::NodeType::metadata;
  trace.nodes[1].name = "step";
  trace.nodes[1].attributes = {trace::make_attribute("step", std::int64_t{0})};
  const auto ranks = steps({trace});
  ASSERT_EQ(ranks[0].size(), 1U);
  EXPECT_EQ(ranks[0][0].us(), 100U);
}

TEST(Split, KnowsTracesWithoutTime) {
  EXPECT_TRUE(steps({Trace()})[0].empty());
  EXPECT_DOUBLE_EQ(split_of(steps({Trace()})).step_us, 0);
}

}  // namespace
}  // namespace infold::whatif
