// SPDX-License-Identifier: Apache-2.0
#include "trace/recording.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "trace/trace_check.h"
#include "trace/views/summary.h"

namespace infold::trace {
namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::int64_t ms(std::int64_t count) { return count * 1'000'000; }

RecordedCall sum(std::int64_t begin_ns, std::int64_t end_ns) {
  RecordedCall call;
  call.name = "infold:all_reduce";
  call.group = "0";
  call.data_type = "f32";
  call.bytes = 4096;
  call.begin_ns = begin_ns;
  call.returned_ns = begin_ns;
  call.end_ns = end_ns;
  return call;
}

// One step of data parallelism: two buckets, and a wait at the end of the backward pass.
Recording ddp() {
  Recording run;
  run.rank = 1;
  run.world = 2;
  run.unix_us = 5'000'000;
  run.begin_ns = ms(1000);
  run.calls = {sum(ms(1010), ms(1018)), sum(ms(1015), ms(1025))};
  run.waits = {{{}, ms(1016), ms(1028)}};
  run.step_ends_ns = {ms(1030)};
  run.end_ns = ms(1030);
  run.groups = {{"0", {0, 1}}};
  return run;
}

std::string operators_of(const Node& node) {
  return text(node.attributes, "operators").value_or("none");
}

TEST(Recording, AComputeNamesItsOperators) {
  Recording run = ddp();
  // One operator continues into the compute after the first call, and one runs only during the
  // wait.
  run.operators = {{"aten::mm", ms(1008), ms(1012)},
                   {"aten::add", ms(1003), ms(1004)},
                   {"aten::mm", ms(1004), ms(1005)},
                   {"aten::relu", ms(1017), ms(1017) + 1}};
  const Trace trace = trace_of(run);
  EXPECT_EQ(find_fault(trace), std::nullopt);
  EXPECT_EQ(operators_of(trace.nodes[0]), "aten::mm=3000,aten::add=1000");
  EXPECT_EQ(operators_of(trace.nodes[1]), "none");
  EXPECT_EQ(operators_of(trace.nodes[2]), "aten::mm=2000");
  EXPECT_EQ(operators_of(trace.nodes[4]), "none");
  for (int i = 0; i < 20; ++i) {
    run.operators.push_back({"drawn::" + std::to_string(i), ms(1000), ms(1001)});
  }
  const std::string most = operators_of(trace_of(run).nodes[0]);
  EXPECT_EQ(std::count(most.begin(), most.end(), ','), 7);
}

TEST(Recording, ComputeAfterABackwardPassWaitsForItsSums) {
  const Trace trace = trace_of(ddp());
  ASSERT_EQ(find_fault(trace), std::nullopt);
  EXPECT_EQ(trace.rank(), 1U);
  EXPECT_EQ(trace.world(), 2U);
  EXPECT_EQ(ranks_of_group(trace, "0"), (std::vector<std::int64_t>{0, 1}));
  // compute, sum, compute, sum, compute until the wait, compute after it, step
  ASSERT_EQ(trace.nodes.size(), 7U);
  EXPECT_EQ(trace.nodes[0].start_us, 5'000'000U);
  EXPECT_EQ(trace.nodes[0].duration_us, 10'000U);
  EXPECT_EQ(trace.nodes[1].control_deps, (Ids{1}));
  EXPECT_EQ(trace.nodes[1].duration_us, 8'000U);
  EXPECT_EQ(trace.nodes[2].control_deps, (Ids{1}));
  EXPECT_EQ(trace.nodes[3].control_deps, (Ids{3}));
  EXPECT_EQ(trace.nodes[4].duration_us, 1'000U);
  // This compute begins at the end of the last sum, although the backward pass ended later.
  EXPECT_EQ(trace.nodes[5].control_deps, (Ids{5}));
  EXPECT_EQ(trace.nodes[5].data_deps, (Ids{2, 4}));
  EXPECT_EQ(trace.nodes[5].start_us, 5'025'000U);
  EXPECT_EQ(trace.nodes[5].duration_us, 5'000U);
  EXPECT_EQ(trace.nodes[6].type, NodeType::metadata);
  const Summary summary = summary_of(trace);
  EXPECT_EQ(summary.steps, (std::vector<StepTime>{{0, 30'000}}));
  EXPECT_EQ(summary.critical_us, 30'000U);
}

TEST(Recording, CollectivesHaveTheAttributesOfChakrasFeeder) {
  Recording run = ddp();
  run.calls[0].kind = CollectiveKind::broadcast;
  run.calls[0].root = 1;
  const Node node = trace_of(run).nodes[1];
  EXPECT_EQ(collective_of(node), (Collective{CollectiveKind::broadcast, 4096, "0", "f32", 1}));
  EXPECT_EQ(find(node.attributes, "comm_type")->value, Attribute::Value(std::int64_t{5}));
  EXPECT_EQ(find(node.attributes, "comm_size")->value, Attribute::Value(std::int64_t{4096}));
  EXPECT_EQ(find(node.attributes, "is_cpu_op")->value, Attribute::Value(false));
  EXPECT_EQ(find(node.attributes, "comm_src")->value, Attribute::Value(std::int32_t{1}));
}

TEST(Recording, AWaitOfItsOwnFreesTheNextComputeAlone) {
  Recording run = ddp();
  run.waits = {{{0}, ms(1016), ms(1018)}};
  const Trace trace = trace_of(run);
  ASSERT_EQ(find_fault(trace), std::nullopt);
  ASSERT_EQ(trace.nodes.size(), 8U);
  EXPECT_EQ(trace.nodes[5].data_deps, (Ids{2}));
  EXPECT_EQ(trace.nodes[5].duration_us, 12'000U);
  EXPECT_EQ(trace.nodes[6].data_deps, (Ids{4}));  // the end of the step
}

TEST(Recording, AStepEndsAfterCallsThatWereWaitedForNowhere) {
  Recording run = ddp();
  run.waits.clear();
  run.end_ns = ms(1040);
  const Trace trace = trace_of(run);
  ASSERT_EQ(trace.nodes.size(), 8U);
  EXPECT_EQ(trace.nodes[5].data_deps, (Ids{2, 4}));
  EXPECT_EQ(trace.nodes[5].duration_us, 0U);
  EXPECT_EQ(step_of(trace.nodes[5]), 0U);
  EXPECT_EQ(trace.nodes[6].type, NodeType::metadata);
  EXPECT_EQ(trace.nodes[7].control_deps, (Ids{6}));
  EXPECT_EQ(step_of(trace.nodes[7]), 1U);
}

TEST(Recording, ACallWithoutAnEndIsLeftOut) {
  Recording run = ddp();
  run.calls[1].end_ns.reset();
  const Trace trace = trace_of(run);
  ASSERT_EQ(find_fault(trace), std::nullopt);
  EXPECT_EQ(summary_of(trace).collectives[0].calls, 1U);
}

// The time that the program spends inside a call does not count as compute.
TEST(Recording, TimeInsideACallIsNotCompute) {
  Recording run = ddp();
  run.calls[0].returned_ns = ms(1013);
  const Trace trace = trace_of(run);
  EXPECT_EQ(trace.nodes[2].start_us, 5'013'000U);
  EXPECT_EQ(trace.nodes[2].duration_us, 2'000U);
}

// A thousand computes of a third of a microsecond add up to 333 microseconds, not to 0.
TEST(Recording, RoundingDoesNotAddUp) {
  Recording run;
  for (int i = 0; i < 1000; ++i) {
    run.calls.push_back(sum(i * 333, i * 333 + 100'000));
  }
  run.end_ns = 1000 * 333;
  const Trace trace = trace_of(run);
  ASSERT_EQ(find_fault(trace), std::nullopt);
  EXPECT_EQ(summary_of(trace).compute_us, 333U);
}

TEST(Recording, AnEmptyRunIsOneNode) {
  const Trace trace = trace_of(Recording());
  EXPECT_EQ(trace.nodes.size(), 1U);
  EXPECT_EQ(find_fault(trace), std::nullopt);
}

}  // namespace
}  // namespace infold::trace
