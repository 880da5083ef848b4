// SPDX-License-Identifier: Apache-2.0
//
// Tests which plans ranks can form at an emulator, and why others are refused.
#include "study/emulate/job_shape.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::emulate {
namespace {

using core::RankRange;
using ::testing::HasSubstr;

plan::Plan plan_of(std::uint16_t world, std::vector<plan::Tree> trees) {
  plan::Plan plan;
  plan.world = world;
  plan.trees = std::move(trees);
  return plan;
}

std::string refusal_of(const plan::Plan& plan, std::uint32_t real = 1) {
  const auto shape = shape_of(plan, real);
  return shape ? "taken" : shape.error();
}

TEST(JobShape, EvenRangesHaveAllRanksOnce) {
  for (std::uint32_t ranks = 1; ranks <= 40; ++ranks) {
    for (std::uint32_t count = 1; count <= ranks; ++count) {
      std::uint32_t next = 0;
      for (const RankRange range : even_ranges(ranks, count)) {
        ASSERT_EQ(range.first, next);
        ASSERT_GE(range.count, ranks / count);
        ASSERT_LE(range.count, ranks / count + 1);
        next += range.count;
      }
      ASSERT_EQ(next, ranks);
    }
  }
}

TEST(JobShape, OfAPlanHasItsRacksHostsAndSites) {
  const std::vector<RankRange> racks = {{0, 4}, {6, 2}};
  const std::vector<RankRange> hosts = {{2, 2}, {4, 2}};
  plan::Plan plan = plan_of(8, {plan::tree_of(8, hosts, racks), plan::tree_of(8, hosts, racks)});
  plan.trees[0].weight = 5;
  const auto shape = shape_of(plan, 2);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  EXPECT_EQ(shape->racks, racks);
  EXPECT_EQ(shape->hosts, hosts);
  EXPECT_EQ(shape->weights, (std::vector<std::uint16_t>{5, 1}));
  EXPECT_FALSE(find_difference(plan, plan).has_value());
}

TEST(JobShape, RefusesPlansThatRanksDoNotForm) {
  const std::vector<RankRange> halves = {{0, 4}, {4, 4}};
  plan::Plan plan = plan_of(8, {plan::flat_tree(8)});
  plan.trees[0].aggregators[0].place = plan::Place::rack;
  EXPECT_THAT(refusal_of(plan), HasSubstr("its root has place=rack"));
  plan = plan_of(8, {plan::tree_of(8, {}, halves)});
  plan.trees[0].aggregators[0].place = plan::Place::server;
  EXPECT_THAT(refusal_of(plan), HasSubstr("below a server only ranks"));
  plan = plan_of(8, {plan::flat_tree(8), plan::flat_tree(8)});
  plan.trees[0].aggregators[0].place = plan::Place::server;
  EXPECT_THAT(refusal_of(plan), HasSubstr("tree 1 is none that ranks form"));
  plan.trees[1].aggregators[0].place = plan::Place::server;
  EXPECT_EQ(refusal_of(plan), "taken");
  EXPECT_TRUE(shape_of(plan, 1)->on_servers);
  EXPECT_THAT(refusal_of(plan_of(8, {plan::even_tree(8, 2, 2)})),
              HasSubstr("aggregator 1 has place=in_path"));
  EXPECT_THAT(refusal_of(plan_of(8, {plan::flat_tree(8), plan::tree_of(8, {}, halves)})),
              HasSubstr("tree 1 is none that ranks form"));
  EXPECT_THAT(refusal_of(plan_of(8, {plan::tree_of(8, {}, std::vector<RankRange>{{0, 8}})})),
              HasSubstr("one rack that has all ranks"));
  EXPECT_THAT(refusal_of(plan_of(8, {plan::tree_of(8, halves, {})})),
              HasSubstr("rank 0 is real, which shares no memory"));
  EXPECT_THAT(refusal_of(plan_of(8, {plan::tree_of(8, std::vector<RankRange>{{5, 1}}, {})})),
              HasSubstr("rank 5 is alone on its host"));
  plan = plan_of(8, {plan::flat_tree(8)});
  plan.formats = core::FormatSet::of(core::WireFormat::bfp16);
  EXPECT_THAT(refusal_of(plan), HasSubstr("formats are not those of its switches"));
}

// Makes one tree per rank, with a site at that rank, after the trees of switches.
plan::Plan plan_of_ranks(std::uint16_t world, std::size_t switches) {
  plan::Plan plan = plan_of(world, std::vector(switches + world, plan::flat_tree(world)));
  for (std::uint16_t rank = 0; rank < world; ++rank) {
    plan::Aggregator& root = plan.trees[switches + rank].aggregators.front();
    root.place = plan::Place::rank;
    if (rank % 2 == 0) root.rank = rank;  // the plan may leave it out
  }
  return plan;
}

std::string difference_of(const plan::Plan& wanted, const plan::Plan& plan) {
  const auto difference = find_difference(wanted, plan);
  return difference ? difference->text : "";
}

TEST(JobShape, OfAPlanWhoseRanksSum) {
  plan::Plan plan = plan_of_ranks(5, 2);
  plan.trees[0].weight = 7;
  plan.trees[6].weight = 3;
  const auto shape = shape_of(plan, 2);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  EXPECT_TRUE(shape->ranks_sum);
  EXPECT_EQ(shape->weights, (std::vector<std::uint16_t>{7, 1}));
  EXPECT_TRUE(shape_of(plan_of_ranks(5, 0), 2)->weights.empty());
  plan::Plan other = plan;
  other.trees[6].aggregators.front().place = plan::Place::in_path;
  EXPECT_EQ(difference_of(plan, other),
            "at aggregator 0 of tree 6: place=in_path, and the plan has rank");
  other = plan;
  other.trees[3].weight = 2;
  EXPECT_EQ(difference_of(plan, other), "weight=2 in tree 3, and the plan has 1");
  EXPECT_THAT(find_difference(plan, other)->remedy,
              HasSubstr("join rank 1 with --worker-weight 1 (INFOLD_WORKER_WEIGHT in PyTorch)"));
}

// Ranks of all racks reach a rank's site directly.
TEST(JobShape, OfAPlanWithRacksWhoseRanksSum) {
  plan::Plan plan = plan_of_ranks(6, 2);
  const std::vector<RankRange> racks = {{0, 2}, {3, 3}};
  plan.trees[0] = plan::tree_of(6, {}, racks);
  EXPECT_THAT(refusal_of(plan), HasSubstr("tree 1 is none that ranks form"));
  plan.trees[1] = plan::tree_of(6, {}, racks);
  const auto shape = shape_of(plan, 2);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  EXPECT_TRUE(shape->ranks_sum);
  EXPECT_EQ(shape->racks, racks);
  EXPECT_EQ(shape->weights, (std::vector<std::uint16_t>{1, 1}));
}

TEST(JobShape, RefusesPlansOfWhichSomeRanksSum) {
  plan::Plan plan = plan_of_ranks(5, 1);
  plan.trees.pop_back();
  EXPECT_THAT(refusal_of(plan), HasSubstr("4 of 5 ranks sum; either all do, or none"));
  plan = plan_of_ranks(5, 1);
  std::swap(plan.trees[0], plan.trees[2]);
  EXPECT_THAT(refusal_of(plan), HasSubstr("tree 0 is none that ranks form"));
  plan = plan_of_ranks(5, 1);
  std::swap(plan.trees[1], plan.trees[3]);
  EXPECT_THAT(refusal_of(plan), HasSubstr("in the order of ranks"));
  const std::vector<RankRange> halves = {{0, 2}, {2, 3}};
  plan = plan_of_ranks(5, 1);
  plan.trees[0] = plan::tree_of(5, std::vector<RankRange>{{3, 2}}, {});
  EXPECT_THAT(refusal_of(plan), HasSubstr("only if all ranks are on one host"));
  EXPECT_THAT(find_fault({.racks = halves, .weights = {}, .ranks_sum = true}, 5).value_or(""),
              HasSubstr("the parent of a rack's switch must be a switch"));
  plan = plan_of_ranks(5, 0);
  plan.trees[1] = plan::tree_of(5, {}, halves);
  plan.trees[1].aggregators.front().place = plan::Place::rank;
  EXPECT_THAT(refusal_of(plan), HasSubstr("below a rank only ranks"));
  EXPECT_THAT(find_fault({.weights = {1}, .ranks_sum = true}, 64).value_or(""),
              HasSubstr("65 sites, of which each rank brings one, and a job has at most 64"));
  EXPECT_FALSE(find_fault({.weights = {}, .ranks_sum = true}, 64).has_value());
}

TEST(JobShape, AHostOfTwoRacksIsAFault) {
  JobShape shape = {.racks = even_ranges(12, 2), .hosts = even_ranges(12, 3)};
  EXPECT_THAT(find_fault(shape, 12).value_or(""), HasSubstr("ranks 4 to 7 share a host"));
  shape.hosts = even_ranges(12, 4);
  EXPECT_FALSE(find_fault(shape, 12).has_value());
}

TEST(JobShape, ASwitchTakesNoMoreThan256Workers) {
  EXPECT_FALSE(find_fault({}, 256).has_value());
  EXPECT_THAT(find_fault({}, 257).value_or(""),
              HasSubstr("a switch would have 257 workers, and takes 256; choose more racks"));
  EXPECT_TRUE(find_fault({.hosts = even_ranges(300, 100)}, 300).has_value());
  EXPECT_FALSE(find_fault({.racks = even_ranges(512, 2)}, 512).has_value());
  EXPECT_TRUE(find_fault({.racks = even_ranges(514, 2)}, 514).has_value());
  EXPECT_FALSE(find_fault({.racks = even_ranges(1024, 16)}, 1024).has_value());
}

// The test accepts exactly those plans that the join server's terms can become.
TEST(JobShape, DrawnTreesAreTakenOrRefused) {
  std::uint32_t taken = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    base::Prng prng(seed);
    const auto world = static_cast<std::uint16_t>(2 + prng.below(30));
    plan::Tree tree = plan::uneven_tree(world, 1 + static_cast<std::uint32_t>(prng.below(3)), prng);
    for (plan::Aggregator& each : tree.aggregators) {
      each.place = static_cast<plan::Place>(prng.below(5));
    }
    if (prng.chance(0.9)) tree.aggregators.front().place = plan::Place::in_path;
    const plan::Plan plan = plan_of(world, {tree});
    const auto shape = shape_of(plan, 1);
    if (!shape) {
      EXPECT_FALSE(shape.error().empty());
      continue;
    }
    ++taken;
    for (std::size_t i = 1; i < tree.aggregators.size(); ++i) {
      EXPECT_NE(tree.aggregators[i].place, plan::Place::server);
    }
    EXPECT_EQ(shape->racks.size() + shape->hosts.size(), tree.aggregators.size() - 1);
  }
  EXPECT_GT(taken, 100U);
}

TEST(JobShape, SaysHowAPlanDiffers) {
  const plan::Plan wanted = plan_of(4, {plan::flat_tree(4)});
  plan::Plan plan = wanted;
  plan.trees[0].job = 7;
  plan.trees[0].epoch = 9;
  EXPECT_FALSE(find_difference(wanted, plan).has_value());
  plan.trees[0].weight = 2;
  EXPECT_EQ(difference_of(wanted, plan), "weight=2 in tree 0, and the plan has 1");
  plan = wanted;
  plan.trees[0] = plan::tree_of(4, {}, std::vector<RankRange>{{0, 2}, {2, 2}});
  EXPECT_EQ(difference_of(wanted, plan), "3 aggregators in tree 0, and the plan has 1");
  plan = wanted;
  plan.small_slots = 1;
  EXPECT_EQ(difference_of(wanted, plan), "small_slots=1, and the plan has 64");
  plan = wanted;
  plan.trees.push_back(plan::flat_tree(4));
  EXPECT_EQ(difference_of(wanted, plan), "trees=2, and the plan has 1");
  plan = wanted;
  plan.datagram_bytes_max = 1400;
  EXPECT_THAT(difference_of(wanted, plan), HasSubstr("datagram_bytes_max=1400"));
}

}  // namespace
}  // namespace infold::emulate
