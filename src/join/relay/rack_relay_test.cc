// SPDX-License-Identifier: Apache-2.0
//
// Racks at their parent, and the refusals of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/job_plan.h"
#include "join/relay/rack_relay_testing.h"

namespace infold::join::testing {
namespace {

using core::RankRange;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Relay, RacksAreOnePartyEachAndHaveSitesOfTheirOwn) {
  start();
  std::vector<std::string> places = two_and_two();
  places.push_back(root_->address());
  join(places);
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(root_->plane.started().size(), 1U);
  const JobTerms above = root_->plane.started()[0];
  EXPECT_THAT(above.racks, ElementsAre(RankRange{0, 2}, RankRange{2, 2}));
  EXPECT_THAT(tree_of(above).aggregators.front().children,
              ElementsAre(plan::Child{{0, 2}, 1}, plan::Child{{2, 2}, 2}, plan::Child{{4, 1}, 0}));
  ASSERT_EQ(b_->plane.started().size(), 1U);
  const JobTerms below = b_->plane.started()[0];
  EXPECT_EQ(below.job, above.job);
  EXPECT_EQ(below.epoch, above.epoch);
  ASSERT_TRUE(below.below.has_value());
  EXPECT_EQ(below.below->rack, (RankRange{2, 2}));
  EXPECT_THAT(below.below->sites, ElementsAre("127.0.0.1:7700", "127.0.0.1:7701"));
  EXPECT_EQ(b_->uplink.reached(), below.below->sites);
  EXPECT_EQ(members_[3]->link->terms().parent, root_->address());
  EXPECT_EQ(members_[4]->link->terms().parent, "");
  EXPECT_EQ(members_[4]->link->terms().racks, above.racks);
  for (const auto& member : members_) member->link->leave();
  EXPECT_THAT(root_->registry.status(), IsEmpty());
  EXPECT_THAT(a_->relay.status(), IsEmpty());
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(above.job));
  for (const auto& member : members_) EXPECT_FALSE(member->told);
}

TEST_F(Relay, AJobInOneRackIsSummedThereAndTakesNothingAbove) {
  start(1, 3);
  join({a_->address(), a_->address()});
  ASSERT_TRUE(all_joined());
  EXPECT_THAT(root_->plane.started(), IsEmpty());
  EXPECT_EQ(root_->registry.slots_free(), 4096U);
  ASSERT_EQ(a_->plane.started().size(), 1U);
  EXPECT_FALSE(a_->plane.started()[0].below.has_value());
  EXPECT_THAT(a_->plane.started()[0].racks, IsEmpty());
  EXPECT_EQ(members_[1]->link->terms().sites.size(), 3U) << "all of the rack's";
  EXPECT_EQ(members_[1]->link->terms().parent, "");
  EXPECT_EQ(a_->relay.status()[0].slots, 512U);
}

TEST_F(Relay, TheLeastOfAllSwitchesDecides) {
  start(4, 3, 2);
  a_->plane.elements = 1000;
  b_->plane.datagram_bytes = 1400;
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  for (const auto& member : members_) {
    const JobTerms& terms = member->link->terms();
    EXPECT_EQ(terms.sites.size(), 2U);
    EXPECT_EQ(terms.elements_max, 1000U);
    EXPECT_EQ(terms.datagram_bytes_max, 1400U);
  }
  a_->uplink.bytes = 1300;
  for (const auto& member : members_) member->link->leave();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  EXPECT_EQ(members_[3]->link->terms().datagram_bytes_max, 1300U);
}

// Of 552 slots the first job takes 512, and the second gets 16 of the 40 that are left.
TEST_F(Relay, LaterJobsGetWhatARackHasLeft) {
  start();
  a_->plane.slots = 552;
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const auto first = std::move(members_);
  join(two_and_two(), [](Hello& hello) { hello.job = "second"; });
  ASSERT_TRUE(all_joined());
  const JobTerms& terms = members_[2]->link->terms();
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 16);
  const auto second = std::move(members_);
  join(two_and_two(), [](Hello& hello) { hello.job = "third"; });
  ASSERT_TRUE(all_joined());
  const auto third = std::move(members_);
  join(two_and_two(), [](Hello& hello) { hello.job = "fourth"; });
  expect_refused(RefusalReason::full,
                 "the switch at rack-a:1 has 8 of 552 slots left and job 'fourth' wants 16");
  EXPECT_EQ(b_->plane.started().size(), 3U);
}

TEST_F(Relay, RacksThatInterleaveAreRefusedToAll) {
  start();
  join({a_->address(), b_->address(), a_->address()});
  expect_refused(RefusalReason::invalid,
                 "ranks 0 and 2 join at rack-a:1, rank 1 between them does not; number the ranks "
                 "rack by rack");
  EXPECT_THAT(a_->relay.status(), IsEmpty());
}

TEST_F(Relay, WhatARackCannotDoIsToldToAll) {
  start();
  b_->uplink.refuse({RefusalReason::too_late, "nothing comes back", -1});
  join(two_and_two());
  expect_refused(RefusalReason::too_late, "nothing comes back");
  EXPECT_THAT(root_->plane.started(), IsEmpty());
  members_.clear();
  wait_for([&] { return a_->relay.status().empty() && b_->relay.status().empty(); });
}

TEST_F(Relay, AParentThatIsNotThereIsNamed) {
  start();
  const std::string parent = root_->address();
  root_.reset();
  join({a_->address()}, [](Hello& hello) { hello.patience = milliseconds(300); });
  expect_refused(RefusalReason::too_late, "no answer from the switch's parent " + parent);
}

TEST_F(Relay, AParentMustBeARoot) {
  start();
  Leaf below(a_->address(), "rack-c:1", 1);
  join({below.address()});
  expect_refused(RefusalReason::invalid, "the switch at rack-a:1 has a parent itself, " +
                                             root_->address() + "; a rack's parent must have none");
}

TEST_F(Relay, ARankThatSumsIsNoParent) {
  JobRegistry registry(nullptr);
  const auto server = JoinServer::start(kAnyPort, registry);
  Leaf leaf((*server)->address().text(), "rack-c:1", 1);
  join({leaf.address()}, [](Hello& hello) { hello.site = SiteAddress{"10.0.0.1:1", 1, true}; });
  expect_refused(RefusalReason::invalid, "--parent names a rank that sums");
}

TEST_F(Relay, HostGroupsStayWithinTheirRack) {
  start();
  join(two_and_two(), [](Hello& hello) {
    hello.host = RankHost{hello.rank == 0 ? "x" : "y", "meet-" + std::to_string(hello.rank)};
    hello.always_shares = true;
  });
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(b_->plane.started().size(), 1U);
  EXPECT_THAT(b_->plane.started()[0].groups, ElementsAre(HostGroup{{2, 2}, "meet-2"}));
}

TEST_F(Relay, OneHostTakesNothingOfItsRack) {
  start();
  join({a_->address(), a_->address()}, [](Hello& hello) {
    hello.host = RankHost{"x", "meet"};
    hello.always_shares = true;
  });
  ASSERT_TRUE(all_joined());
  EXPECT_THAT(a_->plane.started(), IsEmpty());
  EXPECT_EQ(a_->relay.status()[0].slots, 0U);
}

}  // namespace
}  // namespace infold::join::testing
