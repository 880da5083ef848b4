// SPDX-License-Identifier: Apache-2.0
#include "trace/call_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace infold::trace {
namespace {

using ::testing::HasSubstr;

TEST(CallShape, RefusesWhatItCannotMake) {
  const auto reason = [](const Node& node, int world = 4) {
    Trace trace;
    trace.nodes = {node};
    return find_unplayable(trace, [world](const std::string&) { return world; }).value_or("none");
  };
  const auto call = [](CollectiveKind kind, std::int64_t bytes) {
    return collective_node(7, kind, bytes, 0, 1);
  };
  EXPECT_EQ(reason(call(CollectiveKind::all_gather, 400)), "none");
  EXPECT_THAT(reason(call(CollectiveKind::all_to_all, 4)), HasSubstr("node 7 'all_to_all'"));
  EXPECT_THAT(reason(call(CollectiveKind::all_gather, std::int64_t{1} << 31)), HasSubstr("4 GiB"));
  EXPECT_EQ(reason(call(CollectiveKind::all_reduce, std::int64_t{1} << 31)), "none");
  EXPECT_THAT(reason(call(CollectiveKind::reduce_scatter, 12)), HasSubstr("no 4 equal parts"));
  Node rooted = call(CollectiveKind::broadcast, 4);
  rooted.attributes.push_back(make_attribute("comm_src", std::int32_t{4}));
  EXPECT_THAT(reason(rooted), HasSubstr("the root 4"));
  Node message = compute_node(8, 0, 1);
  message.type = NodeType::send;
  EXPECT_THAT(reason(message), HasSubstr("node 8 'compute' is a send"));
  EXPECT_THAT(reason(compute_node(9, 0, kReplayedUsMax + 1)), HasSubstr("at most a day"));
}

TEST(CallShape, GroupsAreSorted) {
  Trace trace = small_trace();
  trace.nodes[1].attributes[2] = make_attribute("pg_name", std::string("z"));
  EXPECT_EQ(groups_of(trace), (std::vector<std::string>{"0", "z"}));
}

TEST(CallShape, KnowsTheSizesOfEachKind) {
  const auto shape = [](CollectiveKind kind, std::uint64_t bytes, const char* type) {
    return shape_of({.kind = kind, .bytes = bytes, .data_type = type}, 4);
  };
  EXPECT_EQ(shape(CollectiveKind::all_reduce, 400, "f32"),
            (CallShape{CollectiveKind::all_reduce, DataType::f32, 100, 0}));
  EXPECT_EQ(shape(CollectiveKind::all_gather, 400, "bf16"),
            (CallShape{CollectiveKind::all_gather, DataType::bf16, 200, 800}));
  EXPECT_EQ(shape(CollectiveKind::reduce_scatter, 400, "f32"),
            (CallShape{CollectiveKind::reduce_scatter, DataType::f32, 100, 25}));
  EXPECT_EQ(shape(CollectiveKind::all_reduce, 401, "f32"),
            (CallShape{CollectiveKind::all_reduce, DataType::u8, 401, 0}));
  EXPECT_EQ(shape(CollectiveKind::barrier, 0, ""), (CallShape{CollectiveKind::barrier}));
}

}  // namespace
}  // namespace infold::trace
