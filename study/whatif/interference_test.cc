// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/interference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace infold::whatif {
namespace {

using ::testing::HasSubstr;
using trace::CollectiveKind;
using trace::Trace;

// Two computes do 100 us of work. A call is under way beside the second one.
Trace with_call_beside(std::uint64_t second_us) {
  Trace trace;
  trace.nodes = {trace::compute_node(1, 0, 60),
                 trace::collective_node(2, CollectiveKind::all_reduce, 64, 60, 500, {1}),
                 trace::compute_node(3, 60, second_us, {1})};
  return trace;
}

Trace apart(std::uint64_t us = 100) {
  Trace trace;
  trace.nodes = {trace::compute_node(1, 0, us)};
  return trace;
}

TEST(Interference, IsFittedFromTwoRuns) {
  const auto fitted = fit_interference(apart(), with_call_beside(50));
  ASSERT_TRUE(fitted) << fitted.error();
  EXPECT_NEAR(*fitted, 0.25, 1e-9);  // 40 us of work took 50
  EXPECT_NEAR(*fit_interference(apart(), with_call_beside(40)), 0, 1e-9);
  EXPECT_NEAR(*fit_interference(apart(), with_call_beside(30)), 0, 1e-9);  // faster: 0
}

TEST(Interference, WorkIsWhatComputesTakeAlone) {
  const Trace beside = with_call_beside(50);
  EXPECT_EQ(works_us(beside, 0), (std::vector<double>{60, 500, 50}));
  const std::vector<double> works = works_us(beside, 0.25);
  EXPECT_DOUBLE_EQ(works[0], 60);
  EXPECT_DOUBLE_EQ(works[2], 40);
}

TEST(Interference, CountsOverlappingCallsOnce) {
  Trace trace = with_call_beside(50);
  trace.nodes.push_back(trace::collective_node(4, CollectiveKind::all_reduce, 64, 70, 20, {1}));
  trace.nodes.push_back(trace::collective_node(5, CollectiveKind::all_reduce, 64, 50, 5, {}));
  const std::vector<ComputeTime> times = compute_times(trace);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_DOUBLE_EQ(times[0].all_us, 110);
  EXPECT_DOUBLE_EQ(times[0].beside_calls_us, 55);
}

TEST(Interference, RefusesRunsThatDoNotBelongTogether) {
  EXPECT_THAT(fit_interference(apart(), apart()).error(), HasSubstr("no compute of the trace"));
  EXPECT_THAT(fit_interference(with_call_beside(50), with_call_beside(50)).error(),
              HasSubstr("record one rank alone"));
  EXPECT_THAT(fit_interference(apart(20), with_call_beside(50)).error(),
              HasSubstr("the same program"));
  EXPECT_THAT(fit_interference(apart(100'000), with_call_beside(50)).error(),
              HasSubstr("the same program"));
}

}  // namespace
}  // namespace infold::whatif
