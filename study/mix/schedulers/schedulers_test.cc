// SPDX-License-Identifier: Apache-2.0
//
// Tests each scheduler's choices in small cases whose right order is obvious.
#include <set>

#include <gtest/gtest.h>

#include "study/mix/schedulers/scheduler.h"

namespace infold::mix {
namespace {

std::vector<Piece> all_next(Scheduler& scheduler) {
  std::vector<Piece> pieces;
  while (const auto piece = scheduler.next()) pieces.push_back(*piece);
  return pieces;
}

using Pieces = std::vector<Piece>;

TEST(Unscheduled, CallsWholeGradientsAsTheyCome) {
  const auto scheduler = make_unscheduled();
  scheduler->add_job({.job = 0, .elements = 100});
  scheduler->add({0, 3, 70});
  scheduler->add({1, 9, 500});
  scheduler->add({0, 2, 30});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 3, 70}, {1, 9, 500}, {0, 2, 30}}));
  scheduler->finish({0, 3, 70});
  EXPECT_EQ(scheduler->next(), std::nullopt);
}

TEST(Priority, AnEarlierLayerOvertakesWhatHasNotGoneOut) {
  const auto scheduler = make_priority({.piece = 10, .credit = 20});
  scheduler->add_job({.job = 0, .elements = 100});
  scheduler->add({0, 5, 45});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 5, 10}, {0, 5, 10}})) << "the credit is used up";
  scheduler->add({0, 1, 15});
  EXPECT_EQ(all_next(*scheduler), Pieces{});
  scheduler->finish({0, 5, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 1, 10}}));
  scheduler->finish({0, 5, 10});
  scheduler->finish({0, 1, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 1, 5}, {0, 5, 10}})) << "15 of the credit of 20";
}

TEST(Priority, EachJobHasItsOwnCredit) {
  const auto scheduler = make_priority({.piece = 10, .credit = 10});
  scheduler->add_job({.job = 0, .elements = 100});
  scheduler->add_job({.job = 1, .elements = 100});
  scheduler->add({0, 1, 50});
  scheduler->add({1, 7, 50});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 1, 10}, {1, 7, 10}}));
}

TEST(Priority, APieceLargerThanTheCreditGoesAlone) {
  const auto scheduler = make_priority({.piece = 50, .credit = 20});
  scheduler->add_job({.job = 0, .elements = 100});
  scheduler->add({0, 1, 100});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 1, 50}}));
  scheduler->finish({0, 1, 50});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 1, 50}}));
}

// Jobs 0 and 1 share link 7. Job 2 has a link of its own.
class SincroniaOnLinks : public testing::Test {
 protected:
  SincroniaOnLinks() : scheduler(make_sincronia({.piece = 10, .credit = 20})) {
    scheduler->add_job({.job = 0, .elements = 100, .links = {{1}, {7}}});
    scheduler->add_job({.job = 1, .elements = 30, .links = {{7}, {2}}});
    scheduler->add_job({.job = 2, .elements = 500, .links = {{3}}});
  }
  std::unique_ptr<Scheduler> scheduler;
};

TEST_F(SincroniaOnLinks, TheShorterJobOfASharedLinkGoesFirst) {
  scheduler->add({0, 4, 60});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 4, 10}, {0, 4, 10}}));
  scheduler->add({1, 2, 30});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 2, 10}, {1, 2, 10}}));
  scheduler->finish({0, 4, 10});
  EXPECT_EQ(all_next(*scheduler), Pieces{}) << "job 0 waits for job 1";
  scheduler->finish({1, 2, 10});
  scheduler->finish({1, 2, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 2, 10}})) << "its last piece is in flight";
  scheduler->finish({1, 2, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 4, 10}}));
}

TEST_F(SincroniaOnLinks, AJobWithoutASharedLinkNeverWaits) {
  scheduler->add({1, 2, 20});
  scheduler->add({2, 2, 20});
  EXPECT_EQ(all_next(*scheduler).size(), 4U);
}

TEST_F(SincroniaOnLinks, ALinkThatTheFirstJobDoesNotUseNowIsNotLeftIdle) {
  scheduler->add({1, 2, 10});
  scheduler->add({0, 4, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 2, 10}}));
  scheduler->finish({1, 2, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 4, 10}})) << "job 1 has 20 left, but not ready";
}

TEST_F(SincroniaOnLinks, WhatIsLeftOfAnIterationDecides) {
  scheduler->add({0, 4, 100});
  for (int i = 0; i < 9; ++i) {
    scheduler->next();
    scheduler->finish({0, 4, 10});
  }
  scheduler->add({1, 2, 30});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 4, 10}})) << "10 left against 30";
}

// Job 1 holds job 0 back on link 7. Job 3 shares link 1 with job 0 only.
TEST_F(SincroniaOnLinks, AJobThatIsHeldTakesNoLink) {
  scheduler->add_job({.job = 3, .elements = 900, .links = {{1}}});
  scheduler->add({1, 2, 30});
  scheduler->add({0, 4, 100});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 2, 10}, {1, 2, 10}}));
  scheduler->add({3, 2, 900});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{3, 2, 10}, {3, 2, 10}}));
}

// Link 9 is four times as fast as the jobs' own links.
TEST(Sincronia, AFastLinkHasRoomForSeveralJobs) {
  const auto scheduler = make_sincronia({.piece = 10, .credit = 10});
  for (JobIndex job = 0; job < 5; ++job) {
    scheduler->add_job({.job = job, .elements = 100, .links = {{job, 1}, {9, 0.25}}});
    scheduler->add({job, 0, 100});
  }
  std::set<JobIndex> sending;
  for (const Piece& piece : all_next(*scheduler)) sending.insert(piece.job);
  EXPECT_EQ(sending.size(), 4U);
}

TEST_F(SincroniaOnLinks, AJobThatLeavesHoldsNobody) {
  scheduler->add({0, 4, 100});
  scheduler->remove_job(1);
  EXPECT_EQ(all_next(*scheduler).size(), 2U);
}

// Switch 9 is the spine. Switches 1 and 2 are racks.
TEST(SlotSharing, JobsTakeTurnsAndNoSwitchIsOverdrawn) {
  const auto scheduler = make_slot_sharing({.piece = 10, .credit = 40}, 25);
  scheduler->add_job({.job = 0, .elements = 100, .switches = {1}});
  scheduler->add_job({.job = 1, .elements = 100, .switches = {1, 9}});
  scheduler->add({0, 3, 100});
  scheduler->add({1, 5, 100});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 3, 10}, {1, 5, 10}})) << "5 slots are left";
  scheduler->finish({0, 3, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 3, 10}}));
  scheduler->finish({0, 3, 10});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 5, 10}})) << "it is job 1's turn";
}

// Job 1 has waited longest, for slots of switch 1. Job 2 must not take the slots of switch 2.
TEST(SlotSharing, TheJobThatWaitsLongestIsNotOvertakenAtItsSwitches) {
  const auto scheduler = make_slot_sharing({.piece = 20, .credit = 80}, 25);
  scheduler->add_job({.job = 0, .elements = 100, .switches = {1}});
  scheduler->add_job({.job = 1, .elements = 100, .switches = {1, 2}});
  scheduler->add_job({.job = 2, .elements = 100, .switches = {2}});
  scheduler->add({0, 3, 40});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 3, 20}}));
  scheduler->add({1, 5, 20});
  scheduler->add({2, 5, 20});
  EXPECT_EQ(all_next(*scheduler), Pieces{});
  scheduler->finish({0, 3, 20});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{1, 5, 20}}));
  scheduler->finish({1, 5, 20});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{2, 5, 20}, {0, 3, 20}}));
}

// Job 0 has waited longest and keeps switch 1. Job 1 also waits for switch 1, but leaves switch 2
// to others.
TEST(SlotSharing, OthersKeepNoSlotsThatTheyDoNotLack) {
  const auto scheduler = make_slot_sharing({.piece = 20, .credit = 80}, 25);
  scheduler->add_job({.job = 3, .elements = 100, .switches = {1}});
  scheduler->add({3, 0, 20});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{3, 0, 20}}));
  scheduler->add_job({.job = 0, .elements = 100, .switches = {1}});
  scheduler->add_job({.job = 1, .elements = 100, .switches = {1, 2}});
  scheduler->add_job({.job = 2, .elements = 100, .switches = {2}});
  for (const JobIndex job : {0U, 1U, 2U}) scheduler->add({job, 5, 20});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{2, 5, 20}}));
}

TEST(SlotSharing, APieceIsNoLargerThanASwitch) {
  const auto scheduler = make_slot_sharing({.piece = 100, .credit = 100}, 25);
  scheduler->add_job({.job = 0, .elements = 100, .switches = {1}});
  scheduler->add({0, 3, 40});
  EXPECT_EQ(all_next(*scheduler), (Pieces{{0, 3, 25}}));
}

}  // namespace
}  // namespace infold::mix
