// SPDX-License-Identifier: Apache-2.0
#include "study/measure/replay/trace_replay.h"

#include <map>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/local_group.h>

#include "trace/call_shape.h"
#include "trace/testing.h"

namespace infold::measure {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using trace::CollectiveKind;
using trace::Trace;

using Outcome = tl::expected<ReplayReport, std::string>;

// Each rank replays its trace on its own thread.
std::vector<Outcome> replay_all(const std::vector<Trace>& traces, const ReplayOptions& options) {
  const auto world = static_cast<int>(traces.size());
  auto group = LocalGroup::create({.world = world});
  EXPECT_TRUE(group);
  std::vector<Outcome> outcomes(traces.size());
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      Communicator own = std::move((*group)[rank]);
      const auto at = static_cast<std::size_t>(rank);
      outcomes[at] =
          replay(traces[at], [&](const std::string&) -> Communicator& { return own; }, options);
    });
  }
  ranks.clear();
  return outcomes;
}

Trace with_steps(Trace trace) {
  for (trace::Node& node : trace.nodes) {
    node.attributes.push_back(trace::make_attribute("step", std::int64_t{0}));
  }
  trace::Node step = trace::compute_node(99, 100, 150);
  step.type = trace::NodeType::metadata;
  step.name = "step";
  step.attributes = {trace::make_attribute("step", std::int64_t{0})};
  trace.nodes.push_back(step);
  return trace;
}

TEST(TraceReplay, MakesEachCallAndTakesAtLeastTheTimeOfComputes) {
  const Trace trace = with_steps(trace::small_trace());
  for (const Outcome& outcome : replay_all({trace, trace, trace}, {})) {
    ASSERT_TRUE(outcome) << outcome.error();
    EXPECT_EQ(outcome->calls, 2U);
    EXPECT_EQ(outcome->bytes, 12288U);
    EXPECT_EQ(outcome->recorded_ns, 150'000);
    ASSERT_EQ(outcome->steps.size(), 1U);
    EXPECT_EQ(outcome->steps[0].recorded_ns, 150'000);
    EXPECT_EQ(outcome->steps[0].replayed_ns, outcome->replayed_ns);
    EXPECT_GE(outcome->replayed_ns, 90'000);  // the compute, which is one chain
  }
}

TEST(TraceReplay, MakesEveryKind) {
  constexpr CollectiveKind kKinds[] = {
      CollectiveKind::all_reduce,     CollectiveKind::reduce,
      CollectiveKind::all_gather,     CollectiveKind::broadcast,
      CollectiveKind::reduce_scatter, CollectiveKind::reduce_scatter_block,
      CollectiveKind::barrier};
  Trace trace;
  for (const char* const type : {"f32", "bf16", "i64", "u8", "", "c64"}) {
    for (const CollectiveKind kind : kKinds) {
      const std::uint64_t id = trace.nodes.size() + 1;
      trace::Node node = trace::collective_node(id, kind, 2 * 3 * 8 * 40, 0, 1);
      node.attributes.push_back(trace::make_attribute("dtype", std::string(type)));
      node.attributes.push_back(trace::make_attribute("comm_src", std::int32_t{1}));
      if (id % 3 == 0) node.data_deps = {id - 1};
      trace.nodes.push_back(node);
    }
  }
  ASSERT_EQ(trace::find_unplayable(trace, [](const std::string&) { return 2; }), std::nullopt);
  for (const Outcome& outcome : replay_all({trace, trace}, {})) {
    ASSERT_TRUE(outcome) << outcome.error();
    EXPECT_EQ(outcome->calls, trace.nodes.size());
  }
}

// Four ranks form two pairs, and two more pairs across them.
TEST(TraceReplay, KeepsTheOrderOfEachGroup) {
  constexpr std::size_t kWorld = 4;
  std::map<std::string, LocalGroup> groups;
  for (const char* const name : {"01", "23", "02", "13"}) {
    auto group = LocalGroup::create({.world = 2});
    ASSERT_TRUE(group);
    groups.emplace(name, std::move(*group));
  }
  std::vector<Outcome> outcomes(kWorld);
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    ranks.emplace_back([&groups, &outcomes, rank] {
      const char* const row = rank < 2 ? "01" : "23";
      const char* const column = rank % 2 == 0 ? "02" : "13";
      Trace trace;
      for (std::uint64_t i = 0; i < 8; ++i) {
        const bool is_row = i % 2 == 0;
        // A column's call depends on the row's call before it.
        trace::Node node =
            trace::collective_node(i + 1, CollectiveKind::all_reduce, is_row ? 4000 : 64, 0, 1);
        node.attributes[2] = trace::make_attribute("pg_name", std::string(is_row ? row : column));
        if (!is_row) node.data_deps = {i};
        trace.nodes.push_back(node);
      }
      outcomes[rank] = replay(trace,
                              [&](const std::string& name) -> Communicator& {
                                const std::size_t member = name == row ? rank % 2 : rank / 2;
                                return groups.at(name)[static_cast<int>(member)];
                              },
                              {});
    });
  }
  ranks.clear();
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome) << outcome.error();
    EXPECT_EQ(outcome->calls, 8U);
    EXPECT_EQ(outcome->bytes, 4U * 4064);
  }
}

TEST(TraceReplay, NamesTheNodeOnWhichRanksDisagree) {
  const Trace trace = trace::small_trace();
  Trace other = trace;
  other.nodes[3].attributes[1] = trace::make_attribute("comm_size", std::int64_t{400});
  const auto outcomes = replay_all({trace, other}, {});
  for (const Outcome& outcome : outcomes) {
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error(), AllOf(HasSubstr("node "), HasSubstr("all_reduce")));
  }
}

TEST(TraceReplay, StopsOnRequest) {
  Trace trace;
  trace.nodes = {trace::compute_node(1, 0, trace::kReplayedUsMax)};
  std::stop_source stop;
  stop.request_stop();
  const Outcome outcome = replay(trace, [](const std::string&) -> Communicator& { std::abort(); },
                                 {.stop = stop.get_token()});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(), "stopped on request");
}

}  // namespace
}  // namespace infold::measure
