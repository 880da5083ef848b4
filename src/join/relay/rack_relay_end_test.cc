// SPDX-License-Identifier: Apache-2.0
//
// The end of a rank, of a rack's switch and of the parent reaches all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/job_plan.h"
#include "join/relay/rack_relay_testing.h"

namespace infold::join::testing {
namespace {

using core::RankRange;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(Relay, WhatEndedARanksCallsIsToldInEveryRack) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  core::Abort abort = {core::AbortReason::mismatch, 3, 1, {}, {}};
  abort.rank_signature.shape = 1000;
  members_[3]->link->leave(abort);
  for (const int rank : {0, 1, 2}) {
    const Member& member = *members_[static_cast<std::size_t>(rank)];
    wait_for([&] { return member.told.load(); });
    ASSERT_TRUE(member.end.abort.has_value());
    EXPECT_EQ(member.end.abort->reason, core::AbortReason::mismatch);
    EXPECT_EQ(member.end.abort->rank, 3);
    EXPECT_EQ(member.end.abort->rank_signature.shape, 1000U);
    EXPECT_EQ(member.end.lost_switch, "");
  }
  wait_for([&] { return a_->plane.ends().size() == 1; });
  EXPECT_EQ(a_->plane.ends()[0].other, 1);
}

TEST_F(Relay, ALostRankIsNamedInEveryRack) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  members_[3]->link->cut();
  members_[3]->link.reset();
  for (const int rank : {0, 1, 2}) {
    wait_for([&] { return members_[static_cast<std::size_t>(rank)]->told.load(); });
    EXPECT_EQ(members_[static_cast<std::size_t>(rank)]->end.lost_rank, 3U);
  }
  wait_for([&] { return !a_->plane.ends().empty(); });
  EXPECT_EQ(a_->plane.ends()[0].reason, core::AbortReason::lost);
  EXPECT_EQ(a_->plane.ends()[0].other, 3);
}

TEST_F(Relay, ARacksSwitchThatGoesIsNamedEverywhere) {
  start();
  std::vector<std::string> places = two_and_two();
  places.push_back(root_->address());
  join(places);
  ASSERT_TRUE(all_joined());
  b_.reset();
  for (const std::size_t rank : {0U, 1U, 4U}) {
    wait_for([&] { return members_[rank]->told.load(); });
    EXPECT_FALSE(members_[rank]->end.lost_rank.has_value());
    EXPECT_EQ(members_[rank]->end.lost_switch, "rack-b:1");
  }
  wait_for([&] { return members_[2]->told.load(); });
  EXPECT_EQ(members_[2]->end.lost_switch, "") << "its own";
  wait_for([&] { return root_->plane.ends().size() == 1; });
  EXPECT_EQ(root_->plane.ends()[0].reason, core::AbortReason::stopped);
}

TEST_F(Relay, AParentThatGoesIsNamed) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const std::string parent = root_->address();
  root_.reset();
  for (const auto& member : members_) {
    wait_for([&] { return member->told.load(); });
    EXPECT_FALSE(member->end.lost_rank.has_value());
    EXPECT_EQ(member->end.lost_switch, parent);
  }
}

// Which counts jobs from one again, while a rank of the old one has not left.
TEST_F(Relay, AParentThatComesBackMayUseNumbersAgain) {
  start();
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  const io::SocketAddress address = root_->server->address();
  root_.reset();
  const auto old = std::move(members_);
  for (const auto& member : old) wait_for([&] { return member->told.load(); });
  root_ = std::make_unique<Root>(2, address);
  join(two_and_two());
  ASSERT_TRUE(all_joined());
  ASSERT_EQ(a_->plane.started().size(), 2U);
  EXPECT_EQ(a_->plane.started()[0].job, a_->plane.started()[1].job);
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(1)) << "before the new one began";
  for (const auto& member : old) member->link->leave();
  EXPECT_THAT(a_->plane.forgotten(), ElementsAre(1)) << "the new one is still there";
  EXPECT_EQ(a_->relay.status().size(), 1U);
}

TEST_F(Relay, StoppingEndsWhatWaitsForOthers) {
  start();
  std::thread stopper([&] {
    wait_for([&] { return !root_->registry.status().empty(); });
    a_->relay.stop();
  });
  join({a_->address(), b_->address()}, [](Hello& hello) {
    if (hello.rank == 1) {
      hello.job = "other";
      hello.world = 1;
      hello.rank = 0;
    }
  });
  stopper.join();
  ASSERT_TRUE(members_[0]->refusal.has_value());
  EXPECT_THAT(members_[0]->refusal->message, HasSubstr("the switch is stopping"));
}

// Connections to the parent break while ranks leave. The thread that watches one needs the lock.
TEST_F(Relay, StoppingWhileRanksGoComesToAnEnd) {
  for (int life = 0; life < 50; ++life) {
    start();
    join({a_->address(), a_->address(), a_->address(), a_->address()});
    ASSERT_TRUE(all_joined());
    std::thread stopper([&] { a_.reset(); });
    for (const auto& member : members_) {
      wait_for([&] { return member->told.load(); });
      member->link->cut();
    }
    stopper.join();
  }
}

TEST(Parties, CountRacksOnceAndHostsInThem) {
  const std::vector<HostGroup> groups = {{{0, 2}, "x"}, {{5, 2}, "y"}};
  const std::vector<RankRange> racks = {{0, 3}, {3, 1}};
  EXPECT_EQ(core::find_range(racks, 4), nullptr);
  EXPECT_FALSE(is_one_rack(racks, 4));
}

}  // namespace
}  // namespace infold::join::testing
