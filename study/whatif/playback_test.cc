// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/playback.h"

#include <queue>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/whatif/testing.h"
#include "trace/testing.h"

namespace infold::whatif {
namespace {

using base::Instant;
using ::testing::HasSubstr;
using trace::CollectiveKind;
using trace::Node;
using trace::Trace;

// A call ends 100 us after the last rank has made it.
class Fixed final : public Calls {
 public:
  explicit Fixed(std::uint16_t ranks) : ranks_(ranks) {}

  void begin(Instant now, const RankCall& made, const trace::CallShape&) override {
    const std::uint32_t call = made.number;
    if (call >= count_.size()) count_.resize(call + 1);
    if (++count_[call] == ranks_) ends_.emplace(now + base::microseconds(100), call);
  }
  Instant run(Instant limit, std::vector<RankCall>& ended) override {
    if (ends_.empty() || ends_.front().first > limit) return limit;
    const auto [at, call] = ends_.front();
    ends_.pop();
    for (std::uint16_t rank = 0; rank < ranks_; ++rank) ended.push_back({rank, 0, call});
    return at;
  }

 private:
  const std::uint16_t ranks_;
  std::vector<std::uint16_t> count_;
  std::queue<std::pair<Instant, std::uint32_t>> ends_;
};

std::vector<Trace> played(const std::vector<Trace>& traces, double interference = 0) {
  std::vector<const Trace*> addresses;
  for (const Trace& each : traces) addresses.push_back(&each);
  Fixed calls(static_cast<std::uint16_t>(traces.size()));
  auto result = play(addresses, calls, {.interference = interference, .stop = {}});
  EXPECT_TRUE(result) << result.error();
  return result.value_or(std::vector<Trace>());
}

std::vector<std::uint64_t> times_of(const Trace& trace) {
  std::vector<std::uint64_t> times;
  for (const Node& node : trace.nodes) times.push_back(node.start_us);
  times.push_back(trace.nodes.back().start_us + trace.nodes.back().duration_us);
  return times;
}

TEST(Playback, KeepsDependenciesAndOverlaps) {
  // A compute of 50, then a call with a compute of 30 beside it. A second call follows that
  // compute, and a compute of 10 waits for both calls.
  const Trace trace = trace::small_trace();
  EXPECT_EQ(times_of(played({trace, trace})[0]),
            (std::vector<std::uint64_t>{0, 50, 50, 80, 180, 190}));
}

TEST(Playback, RanksWaitForTheLastOne) {
  const Trace early = step_with(CollectiveKind::all_reduce, 64, 10);
  const Trace late = step_with(CollectiveKind::all_reduce, 64, 70);
  const std::vector<Trace> result = played({early, late});
  EXPECT_EQ(times_of(result[0]), (std::vector<std::uint64_t>{0, 10, 170, 670}));
  EXPECT_EQ(times_of(result[1]), (std::vector<std::uint64_t>{0, 70, 170, 670}));
}

TEST(Playback, CallsSlowComputesDown) {
  // 30 us of work begin beside a call that ends at 150, so all of it takes a fifth longer.
  Trace trace = trace::small_trace();
  trace.nodes[1].duration_us = trace.nodes[3].duration_us =
      0;  // nothing was beside it when recorded
  const std::vector<Trace> result = played({trace, trace}, 0.2);
  EXPECT_EQ(result[0].nodes[2].duration_us, 36U);
  // There are 200 us of work. During the 100 us beside the call, 80 of it are done, which take a
  // quarter longer.
  trace.nodes[2].duration_us = 200;
  trace.nodes[3].control_deps = {1};
  EXPECT_EQ(played({trace, trace}, 0.25)[0].nodes[2].duration_us, 220U);
}

TEST(Playback, StepsBeginWhereTheOneBeforeHasEnded) {
  Trace trace;
  for (std::uint64_t i = 0; i < 2; ++i) {
    trace.nodes.push_back(trace::compute_node(2 * i + 1, 0, 40));
    Node step = trace::compute_node(2 * i + 2, 0, 0, {2 * i + 1});
    step.type = trace::NodeType::metadata;
    step.name = "step";
    if (i > 0) trace.nodes.back().control_deps = {2};
    trace.nodes.push_back(step);
  }
  const Trace result = played({trace})[0];
  EXPECT_EQ(result.nodes[1].start_us, 0U);
  EXPECT_EQ(result.nodes[1].duration_us, 40U);
  EXPECT_EQ(result.nodes[3].start_us, 40U);
  EXPECT_EQ(result.nodes[3].duration_us, 40U);
}

TEST(Playback, SaysThatCallsDoNotEnd) {
  const Trace with_call = step_with(CollectiveKind::all_reduce, 64);
  Trace without = with_call;
  without.nodes.pop_back();
  without.nodes.pop_back();
  const std::vector<const Trace*> traces = {&with_call, &without};
  Fixed calls(2);
  const auto result = play(traces, calls, {});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error(), HasSubstr("do not end"));
}

TEST(Playback, StopsOnRequest) {
  const Trace trace = trace::small_trace();
  const std::vector<const Trace*> traces = {&trace};
  Fixed calls(1);
  const auto result = play(traces, calls, {.stop = [] { return true; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), "stopped on request");
}

}  // namespace
}  // namespace infold::whatif
