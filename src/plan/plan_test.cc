// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::plan {
namespace {

using ::testing::ElementsAre;

// The tree has two racks and two hosts. The second rack has a single rank, and one host is in a
// rack.
Tree tree_of_eight() {
  const std::vector<core::RankRange> hosts = {{0, 2}, {5, 2}};
  const std::vector<core::RankRange> racks = {{0, 3}, {3, 1}};
  return tree_of(8, hosts, racks);
}

Plan plan_of_eight() {
  Plan plan;
  plan.world = 8;
  plan.trees = {tree_of_eight()};
  plan.trees.front().job = 9;
  plan.trees.front().epoch = 3;
  return plan;
}

TEST(Trees, CountRacksOnceAndHostsInThem) {
  const Tree tree = tree_of_eight();
  EXPECT_THAT(tree.aggregators[0].children,
              ElementsAre(Child{{0, 3}, 1}, Child{{3, 1}, 3}, Child{{4, 1}, 0}, Child{{5, 2}, 4},
                          Child{{7, 1}, 0}));
  EXPECT_THAT(tree.aggregators[1].children, ElementsAre(Child{{0, 2}, 2}, Child{{2, 1}, 0}));
  EXPECT_EQ(tree.aggregators[1].place, Place::rack);
  EXPECT_EQ(tree.aggregators[2].place, Place::host);
  EXPECT_EQ(tree.aggregators[2].rank, 0);
  EXPECT_EQ(tree.aggregators[4].rank, 5) << "a host's first rank leads";
}

TEST(Trees, ARankIsAChildOfItsNearestAggregator) {
  const Tree tree = tree_of_eight();
  EXPECT_EQ(position_of(tree, 1), (Position{2, 1}));
  EXPECT_EQ(position_of(tree, 2), (Position{1, 1}));
  EXPECT_EQ(position_of(tree, 3), (Position{3, 0}));
  EXPECT_EQ(position_of(tree, 7), (Position{0, 4}));
  EXPECT_EQ(position_of_aggregator(tree, 0), std::nullopt);
  EXPECT_EQ(position_of_aggregator(tree, 2), (Position{1, 0}));
  EXPECT_EQ(position_of_aggregator(tree, 4), (Position{0, 3}));
}

TEST(Trees, AreFoundByPlaceAndRanks) {
  const Tree tree =
      tree_of(4, std::vector<core::RankRange>{{0, 2}}, std::vector<core::RankRange>{{0, 2}});
  EXPECT_EQ(find_aggregator(tree, Place::rack, {0, 2}), 1);
  EXPECT_EQ(find_aggregator(tree, Place::host, {0, 2}), 2);
  EXPECT_EQ(find_aggregator(tree, Place::host, {2, 2}), std::nullopt);
}

TEST(Trees, AreEvenlySplit) {
  const Tree tree = even_tree(5, 2, 2, 3);
  EXPECT_EQ(tree.weight, 3);
  EXPECT_THAT(tree.aggregators[0].children, ElementsAre(Child{{0, 2}, 1}, Child{{2, 3}, 2}));
  EXPECT_EQ(flat_tree(3).aggregators.size(), 1U);
}

TEST(Plans, GiveAnAggregatorItsChildrenAndItsParentsNumberForIt) {
  const Plan plan = plan_of_eight();
  const core::AggregatorOptions root = aggregator_options(plan, 0, 0);
  EXPECT_EQ(root.workers.size(), 5U);
  EXPECT_EQ(root.parent_worker, std::nullopt);
  EXPECT_THAT(root.aggregators_of_one, ElementsAre(1)) << "a rack of one rank sends exact sums";
  EXPECT_EQ(root.slot_count, 512);
  EXPECT_EQ(root.job, 9);
  const core::AggregatorOptions host = aggregator_options(plan, 0, 4);
  EXPECT_THAT(host.workers, ElementsAre(core::RankRange{5, 1}, core::RankRange{6, 1}));
  EXPECT_EQ(host.parent_worker, 3);
}

TEST(Plans, GiveARankASiteForEachTree) {
  Plan plan = plan_of_eight();
  EXPECT_TRUE(limits_of(plan).tree);
  plan.trees.push_back(flat_tree(8, 2));
  plan.trees[1].aggregators[0].place = Place::rank;
  plan.trees[1].aggregators[0].rank = std::uint16_t{6};
  set_takes_sparse(plan.trees[1], false);
  const core::WorkerOptions worker = worker_options(plan, 6);
  ASSERT_EQ(worker.sites.size(), 2U);
  EXPECT_EQ(worker.sites[0].worker, 1) << "at its host";
  EXPECT_FALSE(worker.sites[0].in_memory);
  EXPECT_TRUE(worker.sites[0].takes_sparse);
  EXPECT_EQ(worker.sites[0].epoch, 3U);
  EXPECT_EQ(worker.sites[1].worker, 6);
  EXPECT_EQ(worker.sites[1].weight, 2);
  EXPECT_TRUE(worker.sites[1].in_memory);
  EXPECT_FALSE(worker.sites[1].takes_sparse);
  EXPECT_FALSE(worker_options(plan, 5).sites[1].in_memory);
}

}  // namespace
}  // namespace infold::plan
