// SPDX-License-Identifier: Apache-2.0
//
// Which ranks become one party because they share a host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/job_plan.h"
#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using core::RankRange;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Registry, NeighboursOnOneHostBecomeOneParty) {
  hosts_ = {"a", "a", "b", "c", "c"};
  const auto ranks = fill(5);
  const JobTerms terms = *ranks[0].ear->terms();
  EXPECT_THAT(terms.groups, ElementsAre(HostGroup{{0, 2}, "meet-0"}, HostGroup{{3, 2}, "meet-3"}));
  make_ready(ranks, {true, true, false, true, true});
  for (const Rank& rank : ranks) EXPECT_EQ(rank.ear->groups(), terms.groups);
  ASSERT_EQ(plane_.started().size(), 1U);
  EXPECT_EQ(plane_.started()[0].groups, terms.groups);
  EXPECT_THAT(tree_of(terms).aggregators.front().children,
              ElementsAre(plan::Child{{0, 2}, 1}, plan::Child{{2, 1}, 0}, plan::Child{{3, 2}, 2}));
}

TEST_F(Registry, AHostWhoseRanksCannotAllShareIsNoParty) {
  hosts_ = {"a", "a", "b", "b"};
  const auto ranks = fill(4);
  make_ready(ranks, {true, false, true, true});
  EXPECT_THAT(*ranks[3].ear->groups(), ElementsAre(HostGroup{{2, 2}, "meet-2"}));
  ASSERT_EQ(plane_.started().size(), 1U);
  EXPECT_EQ(plane_.started()[0].groups.size(), 1U);
}

TEST_F(Registry, AGroupMustSaveHalfOfTheBytesUnlessItIsWanted) {
  hosts_ = {"a", "a", "a", "b", "b", "b", "b"};
  const auto wanted = fill(7, "wanted");
  EXPECT_EQ(wanted[0].ear->terms()->groups.size(), 2U);
  leave(wanted);
  always_shares_ = false;
  const auto saves = fill(7, "saves");
  EXPECT_THAT(saves[0].ear->terms()->groups, ElementsAre(HostGroup{{3, 4}, "meet-3"}));
  leave(saves);
  element_bytes_ = 2;
  const auto does_not = fill(7, "does-not");
  EXPECT_THAT(does_not[0].ear->terms()->groups, IsEmpty());
  leave(does_not);
  hosts_ = {"a", "a"};
  const auto one = fill(2, "one");
  EXPECT_TRUE(is_one_host(one[0].ear->terms()->groups, 2)) << "nothing is sent at all";
}

TEST_F(Registry, AJobOnOneHostTakesNoSlots) {
  hosts_ = {"a", "a", "a"};
  const auto ranks = fill(3);
  EXPECT_EQ(registry_.slots_free(), 1000U);
  make_ready(ranks, {true, true, true});
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_EQ(registry_.status()[0].slots, 0U);
  EXPECT_EQ(registry_.status()[0].ranks, 3U);
  leave(ranks[1], Parting::lost);
  EXPECT_EQ(registry_.status()[0].ranks, 2U);
  EXPECT_THAT(plane_.ends(), IsEmpty());
  leave(std::vector{ranks[0], ranks[2]});
  EXPECT_THAT(plane_.started(), IsEmpty());
  EXPECT_THAT(plane_.forgotten(), IsEmpty());
}

TEST_F(Registry, AJobThatIsNotOneHostAfterAllTakesSlotsLate) {
  hosts_ = {"a", "a"};
  const auto first = fill(2, "first");
  const auto second = fill(2, "second");
  EXPECT_EQ(registry_.slots_free(), 1000U);
  make_ready(first, {true, false});
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started().size(), 1U);
  make_ready(second);
  for (const Rank& rank : second) {
    expect_refused(rank, RefusalReason::full, "has 488 of 1000 slots left");
  }
  EXPECT_EQ(plane_.started().size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
}

TEST_F(Registry, RanksThatAreSitesShareMemoryOnOneHostOnly) {
  has_sites_ = true;
  hosts_ = {"a", "a", "b"};
  const auto several = fill(3, "several");
  EXPECT_THAT(several[0].ear->terms()->groups, IsEmpty());
  hosts_ = {"a", "a", "a"};
  leave(several);
  const auto one = fill(3, "one");
  EXPECT_TRUE(is_one_host(one[0].ear->terms()->groups, 3));
}

TEST(HostGroups, OnlyNeighboursWithAHostFormOne) {
  const RankHost a = {"a", "x"}, b = {"b", "y"};
  using Hosts = std::vector<std::optional<RankHost>>;
  EXPECT_THAT(find_groups(Hosts{a, b, a, b}), IsEmpty());
  EXPECT_THAT(find_groups(Hosts{std::nullopt, std::nullopt}), IsEmpty());
  EXPECT_THAT(find_groups(Hosts{a, a, std::nullopt, a}), ElementsAre(HostGroup{{0, 2}, "x"}));
  const auto groups = find_groups(Hosts{b, a, a, a});
  EXPECT_EQ(group_of(groups, 0), nullptr);
  EXPECT_EQ(group_of(groups, 3), &groups[0]);
  EXPECT_FALSE(is_one_host(groups, 4));
}

}  // namespace
}  // namespace infold::join::testing
