// SPDX-License-Identifier: Apache-2.0
//
// Which jobs come about, on which terms, and how they end.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/job_registry_testing.h"
#include "control/parties.h"

namespace infold::control::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Nobody checked these before an aggregator did, which ends the switch for all.
TEST_F(Registry, WhatNoAggregatorCanDoIsRefused) {
  RankWords none = words(0, 1, "job");
  none.datagram_bytes_max = 0;
  const auto without_room = registry_.enter(none, {});
  ASSERT_FALSE(without_room);
  EXPECT_EQ(without_room.error().reason, RefusalReason::invalid);
  none = words(0, 1, "job");
  none.small_slots = none.bulk_slots = 0;
  const auto without_slots = registry_.enter(none, {});
  ASSERT_FALSE(without_slots);
  EXPECT_EQ(without_slots.error().reason, RefusalReason::invalid);
}

TEST_F(Registry, ARankWithOtherSitesIsNamedToAll) {
  const auto seats = fill(3);
  for (const auto& answer : say_ready(seats, {{false, 7, {}}, {false, 7, {}}, {false, 8, {}}})) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().reason, RefusalReason::mismatch);
    EXPECT_THAT(answer.error().message, HasSubstr("rank 2 has other sites than rank 0"));
  }
  EXPECT_TRUE(plane_.started().empty());
}

TEST_F(Registry, WhatThePlaneHasNoRoomForIsRefusedToAllAndForgotten) {
  plane_.refuse({RefusalReason::full, "the switch has no room for another job", -1});
  const auto seats = fill(2);
  for (const auto& answer : say_ready(seats, {{false, 7, {}}, {false, 7, {}}})) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().reason, RefusalReason::full);
    EXPECT_THAT(answer.error().message, HasSubstr("no room for another job"));
  }
  leave(seats);
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_TRUE(plane_.ends().empty());
  EXPECT_TRUE(plane_.forgotten().empty());
}

TEST_F(Registry, ARankThatVerifiesAloneIsNamedToAll) {
  for (const bool usual : {false, true}) {
    const auto seats = fill(3);
    const auto answers = say_ready(seats, {{false, 7, {}}, {false, 7, usual}, {false, 7, !usual}});
    for (const Answer<void>& answer : answers) {
      ASSERT_FALSE(answer.has_value());
      EXPECT_EQ(answer.error().reason, RefusalReason::mismatch);
      EXPECT_EQ(answer.error().rank, 2);
      EXPECT_THAT(answer.error().message,
                  HasSubstr(usual ? "rank 2 does not verify results, rank 1 does;"
                                  : "rank 2 verifies results, rank 1 does not;"));
    }
    leave(seats);
  }
  EXPECT_TRUE(plane_.started().empty());
}

// What one rank has finished, another cannot make again: its tensors are the program's.
TEST_F(Registry, RanksComeBackOnlyWithTheSameCallsFinished) {
  for (const ReadyWords& other : {ReadyWords{false, 7, {}, 12, 0}, ReadyWords{false, 7, {}, 11, 1},
                                  ReadyWords{false, 7, {}, 0, 0}}) {
    const auto seats = fill(2);
    for (const auto& answer : say_ready(seats, {{false, 7, {}, 11, 0}, other})) {
      ASSERT_FALSE(answer.has_value());
      EXPECT_EQ(answer.error().reason, RefusalReason::mismatch);
      EXPECT_THAT(answer.error().message, HasSubstr("cannot go on"));
    }
    leave(seats);
  }
  const auto seats = fill(2);
  for (const auto& answer : say_ready(seats, {{false, 7, {}, 11, 3}, {false, 7, {}, 11, 3}})) {
    EXPECT_TRUE(answer.has_value());
  }
}

TEST_F(Registry, ARankThatDoesNotSayWhetherItVerifiesMayJoin) {
  const auto seats = fill(3);
  for (const auto& answer : say_ready(seats, {{false, 7, true}, {false, 7, {}}, {false, 7, true}}))
    EXPECT_TRUE(answer.has_value());
  EXPECT_EQ(plane_.started().size(), 1U);
}

TEST_F(Registry, SettlesTermsThatAllCanKeep) {
  const auto seats = fill(3);
  EXPECT_TRUE(plane_.started().empty());
  make_ready(seats, {false, false, false});
  ASSERT_EQ(plane_.started().size(), 1U);
  const JobTerms& terms = registry_.terms(seats[2]);
  EXPECT_EQ(terms.world, 3U);
  EXPECT_EQ(terms.datagram_bytes_max, 1472U);
  EXPECT_EQ(terms.elements_max, 64U);
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 512);
  ASSERT_EQ(terms.sites.size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started()[0].epoch, terms.epoch);
}

TEST_F(Registry, FreesNameAndSlotsWhenAllHaveLeft) {
  for (int life = 0; life < 3; ++life) {
    const auto seats = fill(2);
    make_ready(seats, {false, false});
    leave(seats);
    EXPECT_EQ(registry_.slots_free(), 1000U);
  }
  ASSERT_EQ(plane_.started().size(), 3U);
  EXPECT_EQ(plane_.forgotten().size(), 3U);
  EXPECT_NE(plane_.started()[0].epoch, plane_.started()[1].epoch);
  EXPECT_TRUE(plane_.ends().empty());
}

TEST_F(Registry, ANameInUseIsRefused) {
  fill(2);
  const auto third = registry_.enter(words(0, 2), {});
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().reason, RefusalReason::in_use);
  EXPECT_THAT(third.error().message, HasSubstr("'job' is running"));
}

TEST_F(Registry, RanksThatDisagreeAboutTheWorldAreTold) {
  std::thread first([&] {
    RankWords early = words(1, 4);
    early.patience = milliseconds(300);
    const auto seat = registry_.enter(early, {});
    ASSERT_FALSE(seat.has_value());
    EXPECT_EQ(seat.error().reason, RefusalReason::too_late);
    EXPECT_EQ(seat.error().rank, 0);
    EXPECT_THAT(seat.error().message, HasSubstr("1 of 4 ranks came; missing: rank 0, 2, 3"));
  });
  while (registry_.status().empty()) std::this_thread::yield();
  const auto second = registry_.enter(words(0, 2), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().reason, RefusalReason::mismatch);
  EXPECT_EQ(second.error().rank, 1);
  EXPECT_THAT(second.error().message, HasSubstr("rank 0 says there are 2 ranks, rank 1 says 4"));
  const auto twice = registry_.enter(words(1, 4), {});
  // Neither of the two, with 20 s of patience each, makes the first wait longer than it wants.
  EXPECT_EQ(twice.error().reason, RefusalReason::in_use);
  first.join();
  EXPECT_TRUE(registry_.status().empty()) << "a job that never began keeps its name";
}

// Of 1000: all that it wants, then an eighth of what is free, then 32 each.
TEST_F(Registry, LaterJobsGetFewerSlotsUntilNoneAreLeft) {
  std::vector<int> granted;
  std::uint32_t free = registry_.slots_free();
  for (;;) {
    const auto seat = registry_.enter(words(0, 1, "job " + std::to_string(granted.size())), {});
    if (!seat) {
      EXPECT_EQ(seat.error().reason, RefusalReason::full);
      EXPECT_THAT(seat.error().message, HasSubstr("has 28 of 1000 slots left"));
      EXPECT_THAT(seat.error().message, HasSubstr("wants 32"));
      break;
    }
    const JobTerms& terms = registry_.terms(*seat);
    EXPECT_GT(terms.small_slots, 0);
    EXPECT_GT(terms.bulk_slots, terms.small_slots);
    granted.push_back(terms.small_slots + terms.bulk_slots);
    free -= static_cast<std::uint32_t>(granted.back());
    EXPECT_EQ(registry_.slots_free(), free);
  }
  EXPECT_THAT(granted, ::testing::ElementsAre(512, 61, 53, 46, 41, 35, 32, 32, 32, 32, 32, 32, 32));
}

TEST_F(Registry, ALostRankEndsTheJobForTheOthers) {
  EXPECT_EQ(end_when_another_leaves(Parting::lost).lost_rank, 0U);
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::lost);
  EXPECT_EQ(plane_.ends()[0].other, 0);
}

// Nobody waits for it until the patience is over.
TEST_F(Registry, ARankThatLeavesBeforeAllAreReadyIsNamedAtOnce) {
  const auto seats = fill(3);
  Answer<void> waited;
  std::thread other([&] { waited = registry_.ready(seats[0], {}); });
  registry_.leave(seats[2], Parting::in_order);
  other.join();
  for (const Answer<void>& answer : {waited, registry_.ready(seats[1], {})}) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().rank, 2);
    EXPECT_THAT(answer.error().message, ::testing::HasSubstr("rank 2 gave up joining"));
  }
  leave({seats[0], seats[1]});
  EXPECT_THAT(registry_.status(), ::testing::IsEmpty()) << "the name is free again";
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

TEST_F(Registry, WhatEndedARanksCallsIsToldWhenItLeaves) {
  const core::Abort abort = {core::AbortReason::mismatch, 0, 1, {}, {}};
  const JobEnd end = end_when_another_leaves({Parting::in_order, abort});
  ASSERT_TRUE(end.abort.has_value());
  EXPECT_EQ(end.abort->reason, core::AbortReason::mismatch);
  ASSERT_EQ(plane_.ends().size(), 1U);
  EXPECT_EQ(plane_.ends()[0].reason, core::AbortReason::mismatch);
  EXPECT_EQ(plane_.ends()[0].other, 1);
}

TEST_F(Registry, StoppingTellsThoseInsideAndRefusesThoseOutside) {
  bool told = false;
  const auto seat = registry_.enter(words(0, 1), [&](const JobEnd& end) { told = !end.lost_rank; });
  ASSERT_TRUE(seat.has_value());
  registry_.stop();
  EXPECT_TRUE(told);
  EXPECT_EQ(registry_.enter(words(0, 1, "late"), {}).error().reason, RefusalReason::stopping);
}

// Where ranks meet at rank 0, it may be gone before the others have been answered.
TEST_F(Registry, StoppingDoesNotDisturbARefusal) {
  std::atomic<int> told{0};
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto seat = registry_.enter(words(rank, 2), [&](const JobEnd&) { ++told; });
      ASSERT_TRUE(seat.has_value());
      EXPECT_EQ(registry_.ready(*seat, {false, 7, rank == 1}).error().rank, 1);
      registry_.stop();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(told, 0);
}

TEST_F(Registry, ImpossibleWordsAreRefused) {
  for (const RankWords& wrong : {words(2, 2), words(0, 0), words(0, 257), words(0, 1, "")}) {
    EXPECT_EQ(registry_.enter(wrong, {}).error().reason, RefusalReason::invalid);
  }
  for (const RackWords& rack : {RackWords{"a", "a:1", 0, 64}, RackWords{"a", "a:1", 1, 0}}) {
    RankWords wrong = words(0, 1);
    wrong.rack = rack;
    EXPECT_EQ(registry_.enter(wrong, {}).error().reason, RefusalReason::invalid);
  }
  JobRegistry without_plane(nullptr, 1);
  const auto nobody = without_plane.enter(words(0, 1), {});
  ASSERT_FALSE(nobody.has_value());
  EXPECT_THAT(nobody.error().message, HasSubstr("nobody aggregates"));
}

}  // namespace
}  // namespace infold::control::testing
