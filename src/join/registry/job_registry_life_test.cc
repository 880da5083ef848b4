// SPDX-License-Identifier: Apache-2.0
//
// Ranks that go, deadlines that pass, switches that stop; and the numbers of jobs.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Registry, FreesNameAndSlotsWhenAllHaveLeft) {
  for (int life = 0; life < 3; ++life) {
    const auto ranks = run(2);
    leave(ranks);
    for (const Rank& rank : ranks) EXPECT_TRUE(rank.ear->was_dismissed());
    EXPECT_EQ(registry_.slots_free(), 1000U);
    EXPECT_THAT(registry_.status(), IsEmpty());
  }
  ASSERT_EQ(plane_.started().size(), 3U);
  EXPECT_EQ(plane_.forgotten().size(), 3U);
  EXPECT_NE(plane_.started()[0].epoch, plane_.started()[1].epoch);
  EXPECT_TRUE(plane_.ends().empty());
}

TEST_F(Registry, ThePlaneHearsTheTransfersOfRank0WhereItAsks) {
  const CallNote note = SizeNote{3, 100};
  const std::vector<Rank> usual = run(2, "usual");
  EXPECT_FALSE(usual[0].ear->terms()->wants_transfers);
  EXPECT_FALSE(registry_.note_call(usual[0].entry, note));

  plane_.wants = true;
  const std::vector<Rank> ranks = fill(2);
  EXPECT_TRUE(ranks[0].ear->terms()->wants_transfers);
  EXPECT_FALSE(registry_.note_call(ranks[0].entry, note)) << "before the job has started";
  make_ready(ranks);
  EXPECT_TRUE(registry_.note_call(ranks[0].entry, note));
  EXPECT_FALSE(registry_.note_call(ranks[1].entry, note)) << "only rank 0 is asked";
  ASSERT_EQ(plane_.notes().size(), 1U);
  EXPECT_EQ(plane_.notes()[0].first, ranks[0].ear->terms()->job);
  EXPECT_EQ(std::get<SizeNote>(plane_.notes()[0].second).elements, 100U);
  leave(ranks[1], Parting::lost);
  EXPECT_TRUE(registry_.note_call(ranks[0].entry, note)) << "it does not know yet";
  leave(ranks[0]);
  EXPECT_TRUE(registry_.note_call(ranks[0].entry, note));
  EXPECT_EQ(plane_.notes().size(), 1U);
  leave(usual);
}

// The rank that was here first may be the one that is wrong, so it hears why another could not
// enter.
TEST_F(Registry, ARankThatWaitsInVainHearsWhoWasTurnedAway) {
  const Rank first = come(hello_of(0, 3));
  expect_refused(come(hello_of(1, 2)), RefusalReason::mismatch, "rank 1 says there are 2 ranks");
  pass(base::seconds(600));
  expect_refused(first, RefusalReason::too_late,
                 "1 of 3 ranks came; missing: rank 1, 2; a rank was turned away: job 'job': rank 1 "
                 "says there are 2 ranks, rank 0 says 3");
}

// A7: one rank's patience does not count for another.
TEST_F(Registry, EachRankWaitsAsLongAsItsOwnPatience) {
  Hello patient = hello_of(0, 3);
  patient.patience = milliseconds(20'000);
  Hello hasty = hello_of(1, 3);
  hasty.patience = milliseconds(3'000);
  const Rank first = come(patient);
  const Rank second = come(hasty);
  pass(base::milliseconds(2'999));
  EXPECT_FALSE(second.ear->refusal().has_value());
  EXPECT_EQ(registry_.next_deadline().ns, now_.ns + base::milliseconds(1).ns);
  pass(base::milliseconds(1));
  expect_refused(second, RefusalReason::too_late, "2 of 3 ranks came; missing: rank 2");
  EXPECT_EQ(second.ear->refusal()->rank, 2);
  EXPECT_FALSE(first.ear->refusal().has_value());
  pass(base::milliseconds(17'000));
  expect_refused(first, RefusalReason::too_late,
                 "2 of 3 ranks came; missing: rank 2; rank 1 came, but waits no longer");
  EXPECT_EQ(first.ear->refusal()->rank, 2) << "which both waited for";
  EXPECT_THAT(registry_.status(), IsEmpty());
}

// However a rank stops waiting, it did come: a cut connection is how one leaves the second of two
// switches when the first has refused it.
TEST_F(Registry, OnlyRanksThatNeverCameAreMissing) {
  const Rank waits = come(hello_of(2, 3));
  leave(come(hello_of(0, 3)), Parting::lost);
  pass(base::seconds(20));
  expect_refused(waits, RefusalReason::too_late,
                 "2 of 3 ranks came; missing: rank 1; rank 0 came, but waits no longer");
  EXPECT_EQ(waits.ear->refusal()->rank, 1);
}

TEST_F(Registry, TheOneToLookAtWentWhereAllHaveCome) {
  const Rank early = come(hello_of(0, 3));
  const Rank waits = come(hello_of(1, 3));
  leave(early, Parting::lost);
  come(hello_of(2, 3));
  pass(base::seconds(20));
  expect_refused(waits, RefusalReason::too_late,
                 "3 of 3 ranks came; rank 0 came, but waits no longer");
  EXPECT_EQ(waits.ear->refusal()->rank, 0);
}

// There the registry goes with rank 0, whose deadline was the first to pass.
TEST_F(Registry, RanksThatMeetAtRank0HearWhichRankItWaitedFor) {
  JobRegistry at_rank(nullptr, options());
  Hello hasty = hello_of(0, 3);
  hasty.patience = milliseconds(100);
  const Rank first = come(at_rank, hasty);
  const Rank waits = come(at_rank, hello_of(2, 3));
  now_ = now_ + base::milliseconds(100);
  at_rank.work();
  expect_refused(first, RefusalReason::too_late, "2 of 3 ranks came; missing: rank 1");
  at_rank.stop();
  at_rank.work();
  expect_refused(waits, RefusalReason::too_late, "missing: rank 1; rank 0 came");
  EXPECT_EQ(waits.ear->refusal()->rank, 1);
  expect_refused(come(at_rank, hello_of(1, 3)), RefusalReason::stopping, "rank 0, where the job's");
}

TEST_F(Registry, NoRankKeepsANameLongerThanTheLimit) {
  Hello stranger = hello_of(0, 2);
  stranger.patience = std::chrono::hours(24);
  const Rank rank = come(stranger);
  pass(base::seconds(3600));
  expect_refused(rank, RefusalReason::too_late, "missing: rank 1");
}

// A6: a process that is killed while it waits comes back.
TEST_F(Registry, ARankThatGoesWhileOthersAreMissingFreesItsPlace) {
  const Rank killed = come(hello_of(0, 2));
  leave(killed, Parting::lost);
  EXPECT_TRUE(killed.ear->was_dismissed());
  EXPECT_THAT(registry_.status(), IsEmpty());
  const Rank other = come(hello_of(1, 2));
  const Rank again = come(hello_of(0, 2));
  leave(again, Parting::lost);
  EXPECT_TRUE(other.ear->terms().has_value()) << "all had come";
  expect_refused(other, RefusalReason::too_late, "rank 0 was lost while joining");
  run(2);
}

TEST_F(Registry, AJobThatGathersGoesOnWithoutARankThatWent) {
  const Rank waits = come(hello_of(1, 3));
  leave(come(hello_of(0, 3)), Parting::lost);
  EXPECT_FALSE(waits.ear->refusal().has_value());
  const Rank back = come(hello_of(0, 3));
  const Rank last = come(hello_of(2, 3));
  make_ready({waits, back, last});
  EXPECT_TRUE(waits.ear->groups().has_value());
}

// The others do not wait until their patience is over.
TEST_F(Registry, ARankThatLeavesBeforeAllAreReadyIsNamedAtOnce) {
  const auto ranks = fill(3);
  registry_.ready(ranks[0].entry, {});
  leave(ranks[2]);
  for (const int rank : {0, 1}) {
    expect_refused(ranks[static_cast<std::size_t>(rank)], RefusalReason::too_late,
                   "rank 2 gave up joining");
    EXPECT_EQ(ranks[static_cast<std::size_t>(rank)].ear->refusal()->rank, 2);
  }
  EXPECT_TRUE(ranks[2].ear->was_dismissed());
  EXPECT_THAT(registry_.status(), IsEmpty()) << "the name is free again";
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

// A26: another switch has refused it. All ranks hear that reason.
TEST_F(Registry, TheReasonOfARankThatGivesUpComesFirst) {
  const auto ranks = fill(2);
  Parting parting = Parting::in_order;
  parting.why = Refusal{RefusalReason::mismatch, "rank 1 has other sites than rank 0", 1};
  leave(ranks[0], parting);
  expect_refused(ranks[1], RefusalReason::mismatch, "rank 1 has other sites than rank 0");
  registry_.ready(ranks[1].entry, {});
  leave(ranks[1], Parting::lost);  // neither adds to its answers
}

TEST_F(Registry, SlotsOfWhatIsNeverReadyAreGivenBack) {
  Hello slow = hello_of(0, 1, "slow");
  slow.patience = milliseconds(500);
  const Rank hasty = come(slow);
  slow.job = "slower";
  slow.patience = std::chrono::hours(1);
  const Rank patient = come(slow);
  EXPECT_LT(registry_.slots_free(), 488U);
  pass(base::milliseconds(500));
  expect_refused(hasty, RefusalReason::too_late, "not all ranks were ready before rank 0's");
  pass(base::seconds(300));
  expect_refused(patient, RefusalReason::too_late, "missing: rank 0");
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

TEST_F(Registry, ADeadlineOfOneEndsTheWaitOfAllThatAreReady) {
  Hello hasty = hello_of(0, 2);
  hasty.patience = milliseconds(100);
  const std::vector<Rank> ranks = {come(hasty), come(hello_of(1, 2))};
  registry_.ready(ranks[0].entry, {});
  pass(base::milliseconds(100));
  for (const Rank& rank : ranks) {
    expect_refused(rank, RefusalReason::too_late, "before rank 0's deadline; missing: rank 1");
    EXPECT_EQ(rank.ear->refusal()->rank, 1);
  }
}

TEST_F(Registry, ALostRankEndsTheJobForTheOthersAndFreesItsName) {
  const auto ranks = run(2);
  leave(ranks[0], Parting::lost);
  ASSERT_TRUE(ranks[1].ear->end().has_value());
  EXPECT_EQ(ranks[1].ear->end()->lost_rank, 0U);
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::lost);
  EXPECT_EQ(plane_.ends()[0].other, 0);
  const auto next = run(2);
  EXPECT_EQ(registry_.status().size(), 2U);
  leave(ranks[1]);
  EXPECT_EQ(registry_.status().size(), 1U);
  leave(next);
}

TEST_F(Registry, ARankThatDoesNotLeaveAnEndedJobIsDismissed) {
  const auto ranks = run(2);
  leave(ranks[0], Parting::lost);
  pass(base::seconds(60));
  EXPECT_TRUE(ranks[1].ear->was_dismissed());
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

TEST_F(Registry, WhatEndedARanksCallsIsToldWhenItLeaves) {
  const core::Abort abort = {core::AbortReason::mismatch, 0, 1, {}, {}};
  const auto ranks = run(2);
  leave(ranks[0], {Parting::in_order, abort});
  ASSERT_TRUE(ranks[1].ear->end() && ranks[1].ear->end()->abort);
  EXPECT_EQ(ranks[1].ear->end()->abort->reason, core::AbortReason::mismatch);
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::mismatch);
  EXPECT_EQ(plane_.ends()[0].other, 1);
}

// The aggregators know why the calls failed, although the rank that is lost did not say.
TEST_F(Registry, ALostRankDoesNotHideWhyItsCallsFailed) {
  const auto ranks = run(3);
  plane_.keep({core::AbortReason::mismatch, 1, 0, {}, {}});
  leave(ranks[1], Parting::lost);
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::lost);
  for (const std::size_t rank : {0U, 2U}) {
    ASSERT_TRUE(ranks[rank].ear->end() && ranks[rank].ear->end()->abort) << rank;
    EXPECT_EQ(ranks[rank].ear->end()->abort->reason, core::AbortReason::mismatch);
    EXPECT_FALSE(ranks[rank].ear->end()->lost_rank.has_value());
    leave(ranks[rank]);
  }
  EXPECT_THAT(registry_.status(), IsEmpty());
}

TEST_F(Registry, ARankThatLeftInGoodOrderDoesNotHideALoss) {
  const auto ranks = run(3);
  plane_.keep({core::AbortReason::left, 0, 0, {}, {}});
  leave(ranks[0]);
  leave(ranks[1], Parting::lost);
  ASSERT_TRUE(ranks[2].ear->end().has_value());
  EXPECT_EQ(ranks[2].ear->end()->lost_rank, 1U);
}

TEST_F(Registry, APlaneThatTakesLongToEndAJobDelaysNoRankForLong) {
  const auto ranks = run(2);
  plane_.keep({core::AbortReason::mismatch, 1, 0, {}, {}});
  plane_.while_ending([&] {
    EXPECT_FALSE(ranks[1].ear->end().has_value());
    pass(base::milliseconds(99));
    EXPECT_FALSE(ranks[1].ear->end().has_value());
    pass(base::milliseconds(1));
    ASSERT_TRUE(ranks[1].ear->end().has_value());
    EXPECT_EQ(ranks[1].ear->end()->lost_rank, 0U);
  });
  leave(ranks[0], Parting::lost);
  pass(base::seconds(59));
  EXPECT_FALSE(ranks[1].ear->was_dismissed());
  pass(base::seconds(1));
  EXPECT_TRUE(ranks[1].ear->was_dismissed());
}

TEST_F(Registry, AnAbortOfARankThatIsNoneCountsAsALoss) {
  const core::Abort abort = {core::AbortReason::mismatch, 77, 1, {}, {}};
  const auto ranks = run(2);
  leave(ranks[1], {Parting::in_order, abort});
  EXPECT_EQ(ranks[0].ear->end()->lost_rank, 1U);
}

// A rank that sums for others stays a moment, and is missed if they stay longer.
TEST_F(Registry, ARankThatAggregatesIsDismissedWhenTheOthersHaveLeft) {
  has_sites_ = true;
  const auto ranks = run(3);
  leave(ranks[0]);
  EXPECT_FALSE(ranks[0].ear->was_dismissed());
  leave(ranks[1]);
  leave(ranks[2]);
  for (const Rank& rank : ranks) EXPECT_TRUE(rank.ear->was_dismissed());
  const auto others = run(2);
  leave(others[0]);
  pass(base::seconds(2));
  EXPECT_TRUE(others[0].ear->was_dismissed());
  EXPECT_EQ(others[1].ear->end()->lost_rank, 0U);
}

TEST_F(Registry, StoppingTellsThePlaneAndThoseInsideAndRefusesThoseOutside) {
  const auto running = run(1);
  const auto joined = fill(1, "joined");
  const Rank waits = come(hello_of(0, 2, "waits"));
  registry_.stop();
  registry_.work();
  EXPECT_TRUE(running[0].ear->end().has_value());
  EXPECT_FALSE(running[0].ear->end()->lost_rank.has_value());
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::stopped);
  expect_refused(joined[0], RefusalReason::stopping, "the switch is stopping");
  expect_refused(waits, RefusalReason::stopping, "the switch is stopping");
  expect_refused(come(hello_of(0, 1, "late")), RefusalReason::stopping, "the switch is stopping");
}

TEST_F(Registry, SaysWhatHappens) {
  leave(run(1));
  std::vector<JoinEvent::Kind> kinds;
  for (const JoinEvent& event : events_) kinds.push_back(event.kind);
  EXPECT_THAT(kinds, ElementsAre(JoinEvent::entered, JoinEvent::joined, JoinEvent::started,
                                 JoinEvent::left));
  come(hello_of(0, 2));
  expect_refused(come(hello_of(0, 3)), RefusalReason::mismatch, "");
  EXPECT_EQ(events_.back().kind, JoinEvent::refused);
  EXPECT_EQ(events_.back().reason, "job 'job': rank 0 says there are 3 ranks, rank 0 says 2");
}

TEST_F(Registry, SaysWhichRanksWentWhileOthersWereMissing) {
  leave(come(hello_of(0, 2)), Parting::lost);
  ASSERT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_.back().kind, JoinEvent::went);
  EXPECT_EQ(events_.back().rank, 0);
  EXPECT_EQ(events_.back().address, hello_of(0, 2).address);
  EXPECT_EQ(events_.back().reason, "its connection broke");
  leave(come(hello_of(0, 2)));
  EXPECT_EQ(events_.back().reason, "it waits no longer");
}

// A4: 70,000 jobs, more than there are numbers, come and go beside some that stay;
// job_registry_full_test.cc has 10 million.
TEST_F(Registry, NumbersOfTheLivingAreNotGivenAgain) {
  plane_.slots = 60'000;
  std::map<std::uint16_t, std::string> living;
  for (int stays = 0; stays < 20; ++stays) {
    const std::string name = "stays " + std::to_string(stays);
    living[run(1, name)[0].ear->terms()->job] = name;
    leave(run(1, "between"));
  }
  std::uint16_t last = 0;
  for (int life = 0; life < 70'000; ++life) {
    const Rank rank = come(hello_of(0, 1, "short"));
    const std::uint16_t job = rank.ear->terms()->job;
    ASSERT_FALSE(living.contains(job)) << living[job];
    ASSERT_NE(job, 0);
    ASSERT_NE(job, last) << "a number rests as long as possible";
    last = job;
    leave(rank);
  }
}

}  // namespace
}  // namespace infold::join::testing
