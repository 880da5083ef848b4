// SPDX-License-Identifier: Apache-2.0
#include "trace/feeder.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing.h"

namespace infold::trace {
namespace {

TEST(Feeder, HandsOutANodeAfterItsDependencies) {
  Feeder feeder(small_trace());
  EXPECT_EQ(feeder.next(), 0U);
  EXPECT_EQ(feeder.next(), std::nullopt);
  EXPECT_EQ(feeder.in_flight(), 1U);
  feeder.done(0);
  // The sum and the compute beside it become ready together; the one with the lower id comes first.
  EXPECT_EQ(feeder.next(), 1U);
  EXPECT_EQ(feeder.next(), 2U);
  EXPECT_EQ(feeder.next(), std::nullopt);
  feeder.done(2);
  EXPECT_EQ(feeder.next(), 3U);
  feeder.done(3);
  EXPECT_EQ(feeder.next(), std::nullopt);  // it also needs the first sum
  EXPECT_FALSE(feeder.is_finished());
  feeder.done(1);
  EXPECT_EQ(feeder.next(), 4U);
  feeder.done(4);
  EXPECT_TRUE(feeder.is_finished());
  EXPECT_EQ(feeder.next(), std::nullopt);
}

TEST(Feeder, AnEmptyTraceIsFinished) { EXPECT_TRUE(Feeder(Trace()).is_finished()); }

TEST(Feeder, CountsADependencyThatIsNamedTwice) {
  Trace trace = small_trace();
  trace.nodes[2].data_deps = {1, 1};
  Feeder feeder(trace);
  ASSERT_EQ(feeder.next(), 0U);
  feeder.done(0);
  EXPECT_EQ(feeder.next(), 1U);
  EXPECT_EQ(feeder.next(), 2U);
}

// Nodes end in any order. Each is handed out once, after all nodes that it depends on.
TEST(Feeder, KeepsDependenciesOfDrawnTraces) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Trace trace = drawn_trace(seed);
    base::Prng prng(seed);
    Feeder feeder(trace);
    std::set<std::uint64_t> done;
    std::vector<std::size_t> runs;
    std::size_t count = 0;
    while (!feeder.is_finished()) {
      while (const auto next = feeder.next()) {
        const Node& node = trace.nodes[*next];
        for (const std::uint64_t id : node.control_deps) EXPECT_TRUE(done.contains(id)) << seed;
        for (const std::uint64_t id : node.data_deps) EXPECT_TRUE(done.contains(id)) << seed;
        runs.push_back(*next);
        ++count;
      }
      ASSERT_FALSE(runs.empty()) << seed;
      ASSERT_EQ(feeder.in_flight(), runs.size()) << seed;
      std::swap(runs[prng.below(runs.size())], runs.back());
      EXPECT_TRUE(done.insert(trace.nodes[runs.back()].id).second) << seed;
      feeder.done(runs.back());
      runs.pop_back();
    }
    EXPECT_EQ(count, trace.nodes.size()) << seed;
  }
}

TEST(FeederDeathTest, ANodeIsDoneOnce) {
  Feeder feeder(small_trace());
  EXPECT_DEATH(feeder.done(0), "CHECK");
}

}  // namespace
}  // namespace infold::trace
