// SPDX-License-Identifier: Apache-2.0

#include "control/job_registry.h"

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/parties.h"

namespace infold::control {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class FakePlane final : public Plane {
 public:
  std::vector<SiteAddress> sites() const override { return {{":7700", 0}}; }
  std::uint32_t slots_total() const override { return 1000; }
  std::uint32_t datagram_bytes_max() const override { return 8972; }
  std::uint32_t elements_max() const override { return 64; }
  Answer<void> start_job(const JobTerms& terms) override {
    if (refusal) return tl::unexpected(*refusal);
    started.push_back(terms);
    return {};
  }
  void end_job(std::uint16_t, const core::Abort& abort) override { ends.push_back(abort); }
  void forget_job(std::uint16_t job) override { forgotten.push_back(job); }

  std::optional<Refusal> refusal;
  std::vector<JobTerms> started;
  std::vector<core::Abort> ends;
  std::vector<std::uint16_t> forgotten;
};

RankWords words(std::uint32_t rank, std::uint32_t world, std::string job = "job") {
  RankWords words;
  words.job = std::move(job);
  words.rank = rank;
  words.world = world;
  words.datagram_bytes_max = 1472 + rank;
  words.small_slots = 64;
  words.bulk_slots = 448;
  words.patience = std::chrono::seconds(20);
  return words;
}

class Registry : public testing::Test {
 protected:
  // All ranks of a job, each entering from a thread of its own.
  std::vector<JobRegistry::Seat> fill(std::uint32_t world, const std::string& job = "job") {
    std::vector<JobRegistry::Seat> seats(world);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        RankWords own = words(rank, world, job);
        if (!hosts_.empty()) own.host = RankHost{hosts_[rank], "meet-" + std::to_string(rank)};
        own.element_bytes = element_bytes_;
        own.always_shares = always_shares_;
        if (has_sites_) own.site = SiteAddress{"10.0.0.1:1", 1};
        const auto seat = registry_.enter(own, {});
        ASSERT_TRUE(seat.has_value()) << seat.error().message;
        seats[rank] = *seat;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return seats;
  }

  // The same for ready(); what each was answered.
  std::vector<Answer<void>> say_ready(const std::vector<JobRegistry::Seat>& seats,
                                      const std::vector<ReadyWords>& words) {
    std::vector<Answer<void>> answers(seats.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      threads.emplace_back(
          [&, rank] { answers[rank] = registry_.ready(seats[rank], words[rank]); });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }
  std::vector<Answer<void>> make_ready(const std::vector<JobRegistry::Seat>& seats,
                                       const std::vector<bool>& shares_memory) {
    std::vector<ReadyWords> words(seats.size());
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      words[rank].shares_memory = shares_memory[rank];
    }
    return say_ready(seats, words);
  }
  void leave(const std::vector<JobRegistry::Seat>& seats) {
    for (const auto& seat : seats) registry_.leave(seat, Parting::in_order);
  }

  std::vector<std::string> hosts_;  // of the ranks; empty: none shares memory
  bool has_sites_ = false;          // whether ranks bring some
  std::uint32_t element_bytes_ = 4;
  bool always_shares_ = true;
  FakePlane plane_;
  JobRegistry registry_{&plane_, 7};
};

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
  EXPECT_TRUE(plane_.started.empty());
}

TEST_F(Registry, WhatThePlaneHasNoRoomForIsRefusedToAllAndForgotten) {
  plane_.refusal = Refusal{RefusalReason::full, "the switch has no room for another job", -1};
  const auto seats = fill(2);
  for (const auto& answer : say_ready(seats, {{false, 7, {}}, {false, 7, {}}})) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().reason, RefusalReason::full);
    EXPECT_THAT(answer.error().message, HasSubstr("no room for another job"));
  }
  leave(seats);
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_TRUE(plane_.ends.empty());
  EXPECT_TRUE(plane_.forgotten.empty());
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
  EXPECT_TRUE(plane_.started.empty());
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
  EXPECT_EQ(plane_.started.size(), 1U);
}

TEST_F(Registry, SettlesTermsThatAllCanKeep) {
  const auto seats = fill(3);
  EXPECT_TRUE(plane_.started.empty());
  make_ready(seats, {false, false, false});
  ASSERT_EQ(plane_.started.size(), 1U);
  const JobTerms& terms = registry_.terms(seats[2]);
  EXPECT_EQ(terms.world, 3U);
  EXPECT_EQ(terms.datagram_bytes_max, 1472U);
  EXPECT_EQ(terms.elements_max, 64U);
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 512);
  ASSERT_EQ(terms.sites.size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started[0].epoch, terms.epoch);
}

TEST_F(Registry, FreesNameAndSlotsWhenAllHaveLeft) {
  for (int life = 0; life < 3; ++life) {
    const auto seats = fill(2);
    make_ready(seats, {false, false});
    leave(seats);
    EXPECT_EQ(registry_.slots_free(), 1000U);
  }
  ASSERT_EQ(plane_.started.size(), 3U);
  EXPECT_EQ(plane_.forgotten.size(), 3U);
  EXPECT_NE(plane_.started[0].epoch, plane_.started[1].epoch);
  EXPECT_TRUE(plane_.ends.empty());
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
  EXPECT_THAT(granted, testing::ElementsAre(512, 61, 53, 46, 41, 35, 32, 32, 32, 32, 32, 32, 32));
}

TEST_F(Registry, ALostRankEndsTheJobForTheOthers) {
  std::optional<std::uint32_t> told;
  std::thread other([&] {
    EXPECT_TRUE(registry_.enter(words(1, 2), [&](const JobEnd& end) { told = end.lost_rank; }));
  });
  const auto seat = registry_.enter(words(0, 2), {});
  other.join();
  ASSERT_TRUE(seat.has_value());
  make_ready({*seat, {seat->job, 1}}, {false, false});
  registry_.leave(*seat, Parting::lost);
  EXPECT_EQ(told, 0U);
  ASSERT_EQ(plane_.ends.size(), 1U);
  EXPECT_EQ(plane_.ends[0].reason, core::AbortReason::lost);
  EXPECT_EQ(plane_.ends[0].other, 0);
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
    EXPECT_THAT(answer.error().message, testing::HasSubstr("rank 2 gave up joining"));
  }
  leave({seats[0], seats[1]});
  EXPECT_THAT(registry_.status(), testing::IsEmpty()) << "the name is free again";
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

TEST_F(Registry, WhatEndedARanksCallsIsToldWhenItLeaves) {
  std::optional<core::Abort> told;
  std::thread other([&] {
    EXPECT_TRUE(registry_.enter(words(1, 2), [&](const JobEnd& end) { told = end.abort; }));
  });
  const auto seat = registry_.enter(words(0, 2), {});
  other.join();
  ASSERT_TRUE(seat.has_value());
  make_ready({*seat, {seat->job, 1}}, {false, false});
  registry_.leave(*seat, {Parting::in_order, core::Abort{core::AbortReason::mismatch, 0, 1}});
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->reason, core::AbortReason::mismatch);
  ASSERT_EQ(plane_.ends.size(), 1U);
  EXPECT_EQ(plane_.ends[0].reason, core::AbortReason::mismatch);
  EXPECT_EQ(plane_.ends[0].other, 1);
}

using core::RankRange;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(Registry, NeighboursOnOneHostBecomeOneParty) {
  hosts_ = {"a", "a", "b", "c", "c"};
  const auto seats = fill(5);
  const JobTerms& terms = registry_.terms(seats[0]);
  EXPECT_THAT(terms.groups, ElementsAre(HostGroup{{0, 2}, "meet-0"}, HostGroup{{3, 2}, "meet-3"}));
  for (const auto& answer : make_ready(seats, {true, true, false, true, true})) {
    EXPECT_TRUE(answer.has_value());
  }
  ASSERT_EQ(plane_.started.size(), 1U);
  EXPECT_EQ(plane_.started[0].groups, terms.groups);
  EXPECT_THAT(parties_of(terms.groups, {}, 5),
              ElementsAre(RankRange{0, 2}, RankRange{2, 1}, RankRange{3, 2}));
}

TEST_F(Registry, AHostWhoseRanksCannotAllShareIsNoParty) {
  hosts_ = {"a", "a", "b", "b"};
  const auto seats = fill(4);
  make_ready(seats, {true, false, true, true});
  EXPECT_THAT(registry_.terms(seats[3]).groups, ElementsAre(HostGroup{{2, 2}, "meet-2"}));
  ASSERT_EQ(plane_.started.size(), 1U);
  EXPECT_EQ(plane_.started[0].groups.size(), 1U);
}

TEST_F(Registry, AGroupMustSaveHalfOfTheBytesUnlessItIsWanted) {
  hosts_ = {"a", "a", "a", "b", "b", "b", "b"};
  const auto wanted = fill(7, "wanted");
  EXPECT_EQ(registry_.terms(wanted[0]).groups.size(), 2U);
  leave(wanted);
  always_shares_ = false;
  const auto saves = fill(7, "saves");
  EXPECT_THAT(registry_.terms(saves[0]).groups, ElementsAre(HostGroup{{3, 4}, "meet-3"}));
  leave(saves);
  element_bytes_ = 2;
  const auto does_not = fill(7, "does-not");
  EXPECT_THAT(registry_.terms(does_not[0]).groups, IsEmpty());
  leave(does_not);
  hosts_ = {"a", "a"};
  const auto one = fill(2, "one");
  EXPECT_TRUE(is_one_host(registry_.terms(one[0]).groups, 2)) << "nothing is sent at all";
}

TEST_F(Registry, AJobOnOneHostTakesNoSlots) {
  hosts_ = {"a", "a", "a"};
  const auto seats = fill(3);
  EXPECT_EQ(registry_.slots_free(), 1000U);
  make_ready(seats, {true, true, true});
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_EQ(registry_.status()[0].slots, 0U);
  EXPECT_EQ(registry_.status()[0].ranks, 3U);
  registry_.leave(seats[1], Parting::lost);
  EXPECT_EQ(registry_.status()[0].ranks, 2U);
  EXPECT_THAT(plane_.ends, IsEmpty());
  leave({seats[0], seats[2]});
  EXPECT_THAT(plane_.started, IsEmpty());
  EXPECT_THAT(plane_.forgotten, IsEmpty());
}

TEST_F(Registry, AJobThatIsNotOneHostAfterAllTakesSlotsLate) {
  hosts_ = {"a", "a"};
  const auto first = fill(2, "first");
  const auto second = fill(2, "second");
  EXPECT_EQ(registry_.slots_free(), 1000U);
  make_ready(first, {true, false});
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started.size(), 1U);
  for (const auto& answer : make_ready(second, {false, false})) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().reason, RefusalReason::full);
    EXPECT_THAT(answer.error().message, HasSubstr("has 488 of 1000 slots left"));
  }
  leave(second);
  EXPECT_EQ(plane_.started.size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
}

TEST_F(Registry, RanksThatAreSitesShareMemoryOnOneHostOnly) {
  has_sites_ = true;
  hosts_ = {"a", "a", "b"};
  const auto several = fill(3, "several");
  EXPECT_THAT(registry_.terms(several[0]).groups, IsEmpty());
  hosts_ = {"a", "a", "a"};
  leave(several);
  const auto one = fill(3, "one");
  EXPECT_TRUE(is_one_host(registry_.terms(one[0]).groups, 3));
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
}  // namespace infold::control
