// SPDX-License-Identifier: Apache-2.0
//
// The summary of a trace, and its timeline.
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trace/testing.h"
#include "trace/views/perfetto.h"
#include "trace/views/summary.h"

namespace infold::trace {
namespace {

using nlohmann::json;

TEST(Summary, CountsTimesAndBytes) {
  Trace trace = small_trace();
  Node step = compute_node(6, 100, 150);
  step.type = NodeType::metadata;
  step.name = "step";
  step.attributes = {make_attribute("step", std::int64_t{3})};
  trace.nodes.push_back(step);
  Node load = compute_node(7, 90, 5);
  load.type = NodeType::memory_load;
  trace.nodes.push_back(load);
  const Summary summary = summary_of(trace);
  EXPECT_EQ(summary.rank, 0U);
  EXPECT_EQ(summary.world, 2U);
  EXPECT_EQ(summary.nodes, 7U);
  EXPECT_EQ(summary.compute_nodes, 3U);
  EXPECT_EQ(summary.compute_us, 90U);
  EXPECT_EQ(summary.other_nodes, 1U);
  EXPECT_EQ(summary.other_us, 5U);
  EXPECT_EQ(summary.collectives, (std::vector<CollectiveRow>{{"all_reduce", "0", 2, 12288, 130}}));
  EXPECT_EQ(summary.steps, (std::vector<StepTime>{{3, 150}}));
  EXPECT_EQ(summary.span_us, 160U);
  // The path is 50 of compute, 30 of compute, 60 of the second sum and 10 of compute.
  EXPECT_EQ(summary.critical_us, 150U);
  EXPECT_EQ(summary.critical_collective_us, 60U);
}

TEST(Summary, ATraceWithFaultsHasNumbers) {
  Trace trace = small_trace();
  trace.nodes[0].control_deps = {99};
  EXPECT_EQ(summary_of(trace).critical_us, 150U);
  trace.nodes[2].control_deps = {3};  // a cycle, before the last node
  EXPECT_EQ(summary_of(trace).critical_us, 120U);
}

TEST(Summary, OfAnEmptyTraceIsZero) {
  const Summary summary = summary_of(Trace());
  EXPECT_EQ(summary.span_us, 0U);
  EXPECT_EQ(summary.critical_us, 0U);
}

TEST(Perfetto, NodesThatOverlapHaveRowsOfTheirOwn) {
  const NamedTrace one[] = {{"trace.0.et", small_trace()}};
  const json all = json::parse(perfetto_of(one));
  std::map<int, std::string> rows;
  std::map<int, json> nodes;
  std::map<std::string, int> arrows;
  for (const json& event : all["traceEvents"]) {
    if (event["name"] == "thread_name") rows[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "X") nodes[event["args"]["id"]] = event;
    if (event["ph"] == "s" || event["ph"] == "f") ++arrows[event["ph"]];
  }
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[1]["ts"], 0);  // times count from the first node
  EXPECT_EQ(nodes[2]["ts"], 50);
  EXPECT_EQ(nodes[2]["dur"], 70);
  EXPECT_EQ(nodes[2]["args"]["bytes"], 4096);
  EXPECT_EQ(rows[nodes[1]["tid"]], "compute");
  EXPECT_EQ(rows[nodes[2]["tid"]], "collectives");
  EXPECT_EQ(rows[nodes[4]["tid"]], "collectives 2");
  EXPECT_EQ(nodes[5]["tid"], nodes[1]["tid"]);
  EXPECT_EQ(arrows["s"], 2);
  EXPECT_EQ(arrows["f"], 2);
}

TEST(Perfetto, EachRankIsAProcess) {
  Trace other = small_trace();
  other.attributes.clear();
  const NamedTrace two[] = {{"trace.0.et", small_trace()}, {"trace.5.et", other}};
  const json all = json::parse(perfetto_of(two));
  std::map<int, std::string> names;
  for (const json& event : all["traceEvents"]) {
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{0, "rank 0"}, {5, "rank 5"}}));
}

}  // namespace
}  // namespace infold::trace
