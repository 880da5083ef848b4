// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_check.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing.h"

namespace infold::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TraceCheck, GoodTracesHaveNoFault) {
  EXPECT_EQ(find_fault(Trace()), std::nullopt);
  EXPECT_EQ(find_fault(small_trace()), std::nullopt);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(find_fault(drawn_trace(seed)), std::nullopt) << "seed " << seed;
  }
}

TEST(TraceCheck, NamesAnIdThatIsThereTwice) {
  Trace trace = small_trace();
  trace.nodes[2].id = 5;
  trace.nodes[2].name = "twin";
  EXPECT_THAT(*find_fault(trace), AllOf(HasSubstr("node 5"), HasSubstr("id of another node")));
}

TEST(TraceCheck, NamesADependencyThatIsMissing) {
  Trace trace = small_trace();
  trace.nodes[4].data_deps.push_back(99);
  EXPECT_THAT(*find_fault(trace), HasSubstr("node 5 'compute' depends on node 99"));
}

TEST(TraceCheck, NamesANodeOfACycle) {
  Trace trace = small_trace();
  trace.nodes[2].data_deps = {4};
  EXPECT_THAT(*find_fault(trace), AllOf(HasSubstr("depends on itself"), HasSubstr("cycle")));
  trace = small_trace();
  trace.nodes[0].control_deps = {1};
  EXPECT_THAT(*find_fault(trace), HasSubstr("node 1 'compute' depends on itself"));
}

TEST(TraceCheck, ACollectiveHasAKindAndASize) {
  Trace trace = small_trace();
  Attributes& attributes = trace.nodes[1].attributes;
  attributes.erase(attributes.begin() + 1);
  EXPECT_THAT(*find_fault(trace), AllOf(HasSubstr("node 2 "), HasSubstr("comm_size")));
  attributes[0] = make_attribute("comm_type", std::int64_t{9});
  EXPECT_EQ(find_fault(trace), std::nullopt);  // a barrier moves no bytes
  attributes[0] = make_attribute("comm_type", std::int64_t{10});
  EXPECT_THAT(*find_fault(trace), AllOf(HasSubstr("node 2 "), HasSubstr("comm_type")));
  attributes.clear();
  EXPECT_THAT(*find_fault(trace), HasSubstr("comm_type"));
}

// Returns the fault of the small trace after its first collective got this attribute or value.
std::string fault_with(const std::string& name, Attribute::Value value) {
  Trace trace = small_trace();
  Attributes& attributes = trace.nodes[1].attributes;
  std::erase_if(attributes, [&](const Attribute& each) { return each.name == name; });
  attributes.push_back(make_attribute(name, std::move(value)));
  return find_fault(trace).value_or("none");
}

TEST(TraceCheck, ASizeFitsIntoMemory) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  EXPECT_EQ(fault_with("comm_size", kMost), "none");
  EXPECT_THAT(
      fault_with("comm_size", kMost + 1),
      AllOf(HasSubstr("node 2 "), HasSubstr("has 1099511627777 bytes"), HasSubstr("comm_size")));
  EXPECT_THAT(fault_with("comm_size", ~std::uint64_t{0}), HasSubstr("18446744073709551615 bytes"));
  EXPECT_THAT(fault_with("comm_size", std::int64_t{-1}), HasSubstr("has no size"));
}

TEST(TraceCheck, ATypeHasAKnownName) {
  for (const char* const name : {"", "f32", "bf16", "u8", "i64"}) {
    EXPECT_EQ(fault_with("dtype", std::string(name)), "none") << name;
  }
  EXPECT_THAT(fault_with("dtype", std::string("f99")),
              AllOf(HasSubstr("node 2 "), HasSubstr("the type 'f99'"), HasSubstr("bf16")));
  EXPECT_THAT(fault_with("dtype", std::int64_t{1}), HasSubstr("the type '(no text)'"));
}

TEST(TraceCheck, ARootIsARankOfTheGroup) {
  EXPECT_EQ(fault_with("comm_src", std::int32_t{1}), "none");
  for (const std::int64_t root : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1} << 40}) {
    EXPECT_THAT(fault_with("comm_src", root),
                AllOf(HasSubstr("node 2 "), HasSubstr("none of the group's 2 ranks"),
                      HasSubstr("from 0 to 1")))
        << root;
  }
  Trace trace = small_trace();
  trace.nodes[1].attributes.push_back(make_attribute("comm_src", std::int32_t{1}));
  trace.attributes.push_back(make_attribute("pg_ranks:0", std::vector<std::int64_t>{1}));
  EXPECT_THAT(*find_fault(trace), HasSubstr("none of the group's 1 ranks"));
}

TEST(TraceCheck, AWorldHasTheRank) {
  const auto fault = [](std::int64_t rank, std::int64_t world) {
    Trace trace = small_trace();
    trace.attributes = {make_attribute("rank", rank), make_attribute("world", world)};
    return find_fault(trace).value_or("none");
  };
  EXPECT_EQ(fault(0, 1), "none");
  EXPECT_EQ(fault(1023, 1024), "none");
  for (const std::int64_t world : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    EXPECT_THAT(fault(0, world), HasSubstr("world is not a number from 1 to 1048576")) << world;
  }
  EXPECT_THAT(fault(2, 2), HasSubstr("has rank 2 in a world of 2"));
}

TEST(TraceCheck, TimesFitIn64Bits) {
  Trace trace = small_trace();
  trace.nodes[3].duration_us = ~std::uint64_t{0} - 100;
  EXPECT_THAT(*find_fault(trace), AllOf(HasSubstr("node 4 "), HasSubstr("2^63")));
}

std::vector<NamedTrace> set_of(std::size_t world) {
  std::vector<NamedTrace> set;
  for (std::size_t rank = 0; rank < world; ++rank) {
    Trace trace = small_trace();
    trace.attributes = {make_attribute("rank", static_cast<std::int64_t>(rank)),
                        make_attribute("world", static_cast<std::int64_t>(world))};
    set.push_back({"trace." + std::to_string(rank) + ".et", trace});
  }
  return set;
}

TEST(TraceSet, AWholeSetHasNoFault) {
  EXPECT_EQ(find_fault_of_set(set_of(4)), std::nullopt);
  EXPECT_EQ(find_fault_of_set(std::span<const NamedTrace>()), std::nullopt);
}

TEST(TraceSet, NamesARankThatIsMissing) {
  auto set = set_of(4);
  set.erase(set.begin() + 2);
  EXPECT_THAT(*find_fault_of_set(set),
              AllOf(HasSubstr("rank 2 has no file"), HasSubstr("trace.2.et")));
  set = set_of(4);
  set.pop_back();  // the metadata says that there are four ranks
  EXPECT_THAT(*find_fault_of_set(set), HasSubstr("of 4 ranks, rank 3 has no file"));
}

TEST(TraceSet, NamesARankThatIsThereTwice) {
  auto set = set_of(3);
  set[2].trace = set[0].trace;
  EXPECT_THAT(*find_fault_of_set(set),
              AllOf(HasSubstr("trace.0.et"), HasSubstr("trace.2.et"), HasSubstr("of rank 0")));
}

TEST(TraceSet, TakesRanksFromNames) {
  auto set = set_of(2);
  for (NamedTrace& each : set) each.trace.attributes.clear();
  EXPECT_EQ(find_fault_of_set(set), std::nullopt);
  set[1].file = "trace.one.et";
  EXPECT_THAT(*find_fault_of_set(set), HasSubstr("trace.one.et does not say its rank"));
  set[1].file = "trace.99999999999999999999.et";
  EXPECT_THAT(*find_fault_of_set(set), HasSubstr("does not say its rank"));
}

TEST(TraceSet, NamesCollectivesThatDisagree) {
  auto set = set_of(3);
  set[2].trace.nodes[3].attributes[1] = make_attribute("comm_size", std::int64_t{12});
  EXPECT_THAT(*find_fault_of_set(set), AllOf(HasSubstr("trace.2.et"), HasSubstr("node 4"),
                                             HasSubstr("8192"), HasSubstr("12 bytes")));
  set = set_of(3);
  set[1].trace.nodes[4].data_deps = {2};
  set[1].trace.nodes.erase(set[1].trace.nodes.begin() + 3);
  EXPECT_THAT(*find_fault_of_set(set), AllOf(HasSubstr("has 2 collectives"), HasSubstr("has 1")));
  set = set_of(2);
  set[0].trace.nodes[1].attributes.push_back(make_attribute("dtype", std::string("f32")));
  EXPECT_EQ(find_fault_of_set(set), std::nullopt);
  set[1].trace.nodes[1].attributes.push_back(make_attribute("dtype", std::string("i32")));
  EXPECT_THAT(*find_fault_of_set(set), AllOf(HasSubstr("of f32"), HasSubstr("of i32")));
  set = set_of(2);
  set[1].trace.nodes[1].attributes.push_back(make_attribute("comm_src", std::int32_t{1}));
  EXPECT_THAT(*find_fault_of_set(set), AllOf(HasSubstr("root 0"), HasSubstr("root 1")));
  set = set_of(2);
  for (NamedTrace& each : set) {  // without a world, the number of files is the number of ranks
    std::erase_if(each.trace.attributes, [](const Attribute& own) { return own.name == "world"; });
    each.trace.nodes[1].attributes.push_back(make_attribute("comm_src", std::int32_t{2}));
    EXPECT_EQ(find_fault(each.trace), std::nullopt);
  }
  EXPECT_THAT(*find_fault_of_set(set),
              AllOf(HasSubstr("trace.0.et: node 2 "), HasSubstr("none of the group's 2 ranks")));
}

// Ranks 0 and 1 are group "a", and ranks 2 and 3 are group "b".
std::vector<NamedTrace> pairs() {
  auto set = set_of(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::string name = rank < 2 ? "a" : "b";
    const std::int64_t first = rank < 2 ? 0 : 2;
    Trace& trace = set[rank].trace;
    trace.attributes.push_back(
        make_attribute("pg_ranks:" + name, std::vector<std::int64_t>{first, first + 1}));
    for (const std::size_t node : {1, 3}) {
      trace.nodes[node].attributes[2] = make_attribute("pg_name", name);
    }
  }
  return set;
}

TEST(TraceSet, ComparesTheMembersOfEachGroup) {
  auto set = pairs();
  EXPECT_EQ(find_fault_of_set(set), std::nullopt);
  set[3].trace.nodes[3].attributes[1] = make_attribute("comm_size", std::int64_t{12});
  EXPECT_THAT(*find_fault_of_set(set), AllOf(HasSubstr("trace.2.et"), HasSubstr("trace.3.et"),
                                             HasSubstr("8192"), HasSubstr("12 bytes")));
  set = pairs();
  set[3].trace.nodes.clear();
  EXPECT_THAT(*find_fault_of_set(set),
              AllOf(HasSubstr("2 collectives of group 'b'"), HasSubstr("trace.3.et has 0")));
}

TEST(TraceSet, NamesGroupsThatHaveOtherMembers) {
  const auto fault = [](std::size_t rank, std::vector<std::int64_t> members) {
    auto set = pairs();
    set[rank].trace.attributes.back() =
        make_attribute(rank < 2 ? "pg_ranks:a" : "pg_ranks:b", std::move(members));
    return find_fault_of_set(set).value_or("none");
  };
  EXPECT_EQ(fault(1, {0, 1}), "none");
  EXPECT_THAT(fault(1, {0, 3}), HasSubstr("list other ranks for group 'a'"));
  EXPECT_THAT(fault(0, {0, 4}), HasSubstr("group 'a' has rank 4, and the run has 4 ranks"));
  EXPECT_THAT(fault(0, {0, -1}), HasSubstr("rank -1"));
  EXPECT_THAT(fault(0, {1, 1}), HasSubstr("rank 1 twice"));
  auto set = pairs();
  for (const std::size_t rank : {0, 1}) {
    set[rank].trace.attributes.back() =
        make_attribute("pg_ranks:a", std::vector<std::int64_t>{0, 2});
  }
  EXPECT_THAT(*find_fault_of_set(set),
              AllOf(HasSubstr("trace.1.et"), HasSubstr("does not list rank 1")));
}

}  // namespace
}  // namespace infold::trace
