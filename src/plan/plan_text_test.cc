// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::plan {
namespace {

using ::testing::HasSubstr;

Plan plan_of_eight() {
  Plan plan;
  plan.world = 8;
  plan.formats =
      core::FormatSet::of(core::WireFormat::i32) | core::FormatSet::of(core::WireFormat::bfp16);
  plan.native_types = core::FloatTypes::of(DataType::f32) | core::FloatTypes::of(DataType::bf16);
  plan.brief_results = true;
  plan.small_slots = 3;
  plan.trees = {tree_of(8, std::vector<core::RankRange>{{0, 2}, {5, 2}},
                        std::vector<core::RankRange>{{0, 3}, {3, 1}}),
                flat_tree(8, 5)};
  plan.trees[0].job = 9;
  plan.trees[0].epoch = 4'000'000'000;
  plan.trees[1].aggregators[0].place = Place::server;
  plan.trees[1].aggregators[0].formats = core::FormatSet::of(core::WireFormat::bfp16);
  set_takes_sparse(plan.trees[1], false);
  return plan;
}

TEST(PlanText, IsReadAsItWasWritten) {
  const std::string text = write_plan(plan_of_eight());
  EXPECT_THAT(text,
              HasSubstr("plan world=8 datagram_bytes_max=1472 elements_max=8192 "
                        "small_slots=3 bulk_slots=448 formats=i32,bfp16 native_types=f32,bf16 "
                        "brief_results=yes\n"));
  EXPECT_THAT(text, HasSubstr("place=rack sparse=yes formats=all children=0-1:2,2\n"));
  EXPECT_THAT(text, HasSubstr("place=server sparse=no formats=bfp16 children=0,1,2,3,4,5,6,7\n"));
  const auto read = read_plan(text);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, plan_of_eight());
}

TEST(PlanText, DrawnPlansAreReadAsTheyWereWritten) {
  base::Prng prng(5);
  for (int i = 0; i < 200; ++i) {
    Plan plan;
    plan.world = static_cast<std::uint16_t>(1 + prng.below(60));
    for (std::uint64_t tree = 0; tree <= prng.below(4); ++tree) {
      plan.trees.push_back(uneven_tree(plan.world, 1 + prng.below(3) % 4, prng));
    }
    const auto read = read_plan(write_plan(plan));
    ASSERT_TRUE(read.has_value()) << read.error();
    ASSERT_EQ(*read, plan);
  }
}

TEST(PlanText, FieldsThatAreLeftOutHaveTheirDefaults) {
  const auto read =
      read_plan("# two ranks\n\nplan world=2  # no more\n tree\naggregator children=0,1");
  ASSERT_TRUE(read.has_value()) << read.error();
  Plan plan;
  plan.world = 2;
  plan.trees = {flat_tree(2)};
  EXPECT_EQ(*read, plan);
}

TEST(PlanText, LinesMayEndAsOnWindows) {
  std::string text = write_plan(plan_of_eight()) + "# the end\n";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\r\n");
  }
  const auto read = read_plan(text + "\r\n");
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, plan_of_eight());
}

struct Bad {
  const char* name;
  const char* text;
  const char* error;
};

class BadPlans : public ::testing::TestWithParam<Bad> {};

TEST_P(BadPlans, AreRefusedWithTheReason) {
  const auto read = read_plan(GetParam().text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error(), HasSubstr(GetParam().error));
}

const Bad kBad[] = {
    {"Empty", "", "no line begins with 'plan'"},
    {"NoPlan", "tree\n", "line 1: the first line must begin with 'plan'"},
    {"TwoPlans", "plan\nplan\n", "line 2: a second plan"},
    {"NoTree", "plan\naggregator\n", "line 2: an aggregator before the first tree"},
    {"UnknownLine", "plan\nforest\n", "line 2: 'forest' must be plan, tree or aggregator"},
    {"UnknownKey", "plan words=2\n", "line 1: a plan has no 'words'"},
    {"NoNumber", "plan world=two\n", "'two' must be a number from 0 to 65535"},
    {"LargeNumber", "plan world=65536\n", "'65536' must be a number"},
    {"NegativeNumber", "plan world=-1\n", "'-1' must be a number"},
    {"UnknownFormat", "plan formats=bfp4\n", "'bfp4' is an unknown or repeated wire format"},
    {"FormatTwice", "plan formats=i8,i8\n", "'i8' is an unknown or repeated wire format"},
    {"NoFloat", "plan native_types=i32\n", "'i32' is an unknown or repeated type of floats"},
    {"NoFormats", "plan world=1 formats=\ntree\naggregator children=0\n",
     "formats must name a wire format"},
    {"NoFormatsOfAnAggregator", "plan world=1\ntree\naggregator formats= children=0\n",
     "tree 0: aggregator 0: formats must name a wire format"},
    {"UnknownPlace", "plan\ntree\naggregator place=moon\n", "'moon' must be in_path, rack"},
    {"NeitherYesNorNo", "plan\ntree\naggregator sparse=1\n", "'1' must be yes or no"},
    {"RootAsChild", "plan\ntree\naggregator children=0:0\n", "aggregator 0 is the root"},
    {"BackwardRanks", "plan\ntree\naggregator children=3-1:1\n", "ranks 3 to 1"},
    {"NoRanks", "plan world=0\ntree\naggregator\n", "needs world=N, the number of ranks"},
    {"NoWorld", "plan\ntree\naggregator children=0,1\n", "needs world=N, the number of ranks"},
    {"NoTrees", "plan world=2\n", "0 trees"},
    {"WorldTwice", "plan world=2 world=2\n", "line 1: a second 'world'; write one"},
    {"WeightTwice", "plan world=2\ntree weight=1 weight=2\n", "line 2: a second 'weight'"},
    {"ChildrenTwice", "plan world=2\ntree\naggregator children=0 children=1\n",
     "line 3: a second 'children'"},
    {"NoAggregator", "plan world=1\ntree\n", "tree 0: it has no aggregator"},
    {"Heavy", "plan world=1\ntree weight=65\naggregator children=0\n",
     "weight 65, where 1 to 64 are possible"},
    {"RankMissing", "plan world=3\ntree\naggregator children=0,2\n",
     "child with rank 2, where rank 1 must be next"},
    {"RankTwice", "plan world=2\ntree\naggregator children=0,0\n",
     "child with rank 0, where rank 1 must be next"},
    {"RanksTooFew", "plan world=3\ntree\naggregator children=0,1\n",
     "children's ranks end before 2, where they must end before 3"},
    {"RanksAlone", "plan world=2\ntree\naggregator children=0-1\n",
     "several ranks from 0 on need an aggregator"},
    {"ChildBeforeParent", "plan world=1\ntree\naggregator children=0:1\naggregator children=0:1\n",
     "child 1 must come after its parent"},
    {"ChildOfTwo", "plan world=2\ntree\naggregator children=0:1,1:1\naggregator children=0\n",
     "child 1 has another parent already"},
    {"NoParent", "plan world=1\ntree\naggregator children=0\naggregator children=0\n",
     "aggregator 1: it has no parent"},
    {"StrangeRank", "plan world=1\ntree\naggregator rank=1 children=0\n",
     "rank=1 is not below world=1"},
    {"NoSlots", "plan world=1 small_slots=0 bulk_slots=0\ntree\naggregator children=0\n",
     "0 slots, where 1 to 32767 are possible"},
    {"SmallDatagrams", "plan world=1 datagram_bytes_max=60\ntree\naggregator children=0\n",
     "datagram_bytes_max=60 and elements_max="},
};

INSTANTIATE_TEST_SUITE_P(All, BadPlans, ::testing::ValuesIn(kBad),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PlanText, ManyLevelsAreRefused) {
  std::string text = "plan world=1\ntree\n";
  for (int level = 1; level <= 17; ++level) {
    text += "aggregator children=0:" + std::to_string(level) + "\n";
  }
  EXPECT_THAT(read_plan(text + "aggregator children=0\n").error(),
              HasSubstr("more than 16 levels"));
}

}  // namespace
}  // namespace infold::plan
