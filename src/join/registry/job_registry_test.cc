// SPDX-License-Identifier: Apache-2.0
//
// Which jobs come about, and on which terms.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/job_plan.h"
#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(Registry, SettlesTermsThatAllCanKeep) {
  const auto ranks = fill(3);
  EXPECT_TRUE(plane_.started().empty());
  make_ready(ranks);
  ASSERT_EQ(plane_.started().size(), 1U);
  const JobTerms terms = *ranks[2].ear->terms();
  EXPECT_EQ(terms.world, 3U);
  EXPECT_EQ(terms.datagram_bytes_max, 1472U);
  EXPECT_EQ(terms.elements_max, 64U);
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 512);
  ASSERT_EQ(terms.sites.size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started()[0].epoch, terms.epoch);
  for (const Rank& each : ranks) EXPECT_TRUE(each.ear->groups().has_value());
}

// A3: nothing but the source of entropy decides an epoch: neither the number nor the count of jobs.
TEST_F(Registry, EpochsAreWhatTheSourceOfEntropySays) {
  for (const std::uint64_t said : {0xFEDC'BA98'7654'3210U, 0x1234'5678'9ABC'DEF0U}) {
    entropy_ = said - 1;
    const auto ranks = run(1);
    EXPECT_EQ(ranks[0].ear->terms()->epoch, static_cast<std::uint32_t>(said));
    leave(ranks);
  }
}

// Each of the two has slots, but none of a kind that both have. It would have ended the switch.
TEST_F(Registry, RanksWithoutACommonKindOfSlotsAreRefused) {
  Hello small = hello_of(0, 2);
  small.bulk_slots = 0;
  Hello bulk = hello_of(1, 2);
  bulk.small_slots = 0;
  for (const Rank& rank : {come(small), come(bulk)}) {
    expect_refused(rank, RefusalReason::invalid, "a job without slots cannot sum");
  }
  EXPECT_THAT(registry_.status(), IsEmpty());
  EXPECT_EQ(registry_.slots_free(), 1000U);
}

// A site that sums native in jobs without trees alone, and needs memory for it.
TEST_F(Registry, NativeTypesAreForJobsThatWantThemAndHaveNoTrees) {
  const core::FloatTypes types = core::FloatTypes::of(DataType::f32);
  core::SiteRecord record;
  record.formats = core::FormatSet::all() - core::FormatSet::of(core::WireFormat::native);
  record.native_types = types;
  plane_.set_record(record);
  const auto native_of = [&](const std::string& job, bool first_wants, bool share_a_host) {
    std::vector<Rank> ranks;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      Hello hello = hello_of(rank, 3, job);
      hello.wants_native = rank > 0 || first_wants;
      hello.always_shares = true;
      if (share_a_host && rank < 2) hello.host = RankHost{"host", "meet-" + std::to_string(rank)};
      ranks.push_back(come(hello));
    }
    EXPECT_TRUE(ranks[0].ear->terms().has_value());
    EXPECT_EQ(ranks[0].ear->terms()->groups.empty(), !share_a_host);
    const core::FloatTypes native = ranks[0].ear->terms()->native_types;
    EXPECT_EQ(native, ranks[2].ear->terms()->native_types);
    leave(ranks);
    return native;
  };
  EXPECT_EQ(native_of("wanted", true, false), types);
  EXPECT_TRUE(native_of("unwanted", false, false).is_empty());
  EXPECT_TRUE(native_of("tree", true, true).is_empty());
}

// A rank of an older version leaves its word out.
TEST_F(Registry, ResultsAreBriefWhereAllRanksTakeSuch) {
  for (const bool last_takes : {true, false}) {
    std::vector<Rank> ranks;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      Hello hello = hello_of(rank, 3);
      hello.takes_brief = rank < 2 || last_takes;
      ranks.push_back(come(hello));
    }
    make_ready(ranks);
    for (const Rank& rank : ranks) EXPECT_EQ(rank.ear->terms()->brief_results, last_takes);
    ASSERT_FALSE(plane_.started().empty());
    const JobTerms terms = plane_.started().back();
    EXPECT_EQ(terms.brief_results, last_takes);
    EXPECT_EQ(aggregator_options(terms).brief_results, last_takes);
    leave(ranks);
  }
}

// A block of some formats has 64 elements; as a partial sum it is longer than 548 bytes.
TEST_F(Registry, PacketsThatHoldNoBlockAreRefusedOrDoWithoutGroups) {
  plane_.elements = 32;
  expect_refused(come(hello_of(0, 1)), RefusalReason::invalid, "hold no block of some formats");
  plane_.elements = 8192;
  hosts_ = {"a", "a", "b"};
  plane_.datagram_bytes = 548;
  EXPECT_THAT(fill(3)[0].ear->terms()->groups, IsEmpty());
  plane_.datagram_bytes = 1400;
  EXPECT_EQ(fill(3, "wider")[0].ear->terms()->groups.size(), 1U);
}

TEST_F(Registry, ARankWithOtherSitesIsNamedToAll) {
  const auto ranks = fill(3);
  say_ready(ranks, {{false, 7, {}}, {false, 7, {}}, {false, 8, {}}});
  for (const Rank& rank : ranks) {
    expect_refused(rank, RefusalReason::mismatch, "rank 2 has other sites than rank 0");
  }
  EXPECT_TRUE(plane_.started().empty());
  EXPECT_THAT(registry_.status(), IsEmpty()) << "the name is free, although no rank has left";
}

TEST_F(Registry, WhatThePlaneHasNoRoomForIsRefusedToAllAndForgotten) {
  plane_.refuse({RefusalReason::full, "the switch has no room for another job", -1});
  const auto ranks = fill(2);
  make_ready(ranks);
  for (const Rank& rank : ranks) {
    expect_refused(rank, RefusalReason::full, "no room for another job");
  }
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_TRUE(plane_.ends().empty());
  EXPECT_TRUE(plane_.forgotten().empty());
}

TEST_F(Registry, MemoryThatIsMissingIsARefusalAndGivesEverythingBack) {
  plane_.has_no_memory = true;
  const auto ranks = fill(2);
  make_ready(ranks);
  for (const Rank& rank : ranks) {
    expect_refused(rank, RefusalReason::full,
                   "the switch cannot start the job: its memory is used up; with fewer slots");
  }
  EXPECT_EQ(registry_.slots_free(), 1000U);
  EXPECT_THAT(registry_.status(), IsEmpty());
  plane_.has_no_memory = false;
  run(2);
}

// Fewer slots would not help, so the refusal does not advise them.
TEST_F(Registry, AFaultOfThePlaneIsARefusalWithItsOwnText) {
  plane_.has_a_fault = true;
  const auto ranks = fill(2);
  make_ready(ranks);
  for (const Rank& rank : ranks) {
    expect_refused(rank, RefusalReason::full, "the switch cannot start the job: basic_string::at");
    EXPECT_EQ(rank.ear->refusal()->message.find("slots"), std::string::npos);
  }
  EXPECT_EQ(registry_.slots_free(), 1000U);
  plane_.has_a_fault = false;
  run(2);
}

TEST_F(Registry, ARankThatVerifiesAloneIsNamedToAll) {
  for (const bool usual : {false, true}) {
    const auto ranks = fill(3);
    say_ready(ranks, {{false, 7, {}}, {false, 7, usual}, {false, 7, !usual}});
    for (const Rank& rank : ranks) {
      expect_refused(rank, RefusalReason::mismatch,
                     usual ? "rank 2 does not verify results, rank 1 does;"
                           : "rank 2 verifies results, rank 1 does not;");
      EXPECT_EQ(rank.ear->refusal()->rank, 2);
    }
  }
  EXPECT_TRUE(plane_.started().empty());
}

// A call that one rank has finished cannot be made again: its tensors are the program's.
TEST_F(Registry, RanksComeBackOnlyWithTheSameCallsFinished) {
  for (const ReadyReport& other :
       {ReadyReport{false, 7, {}, 12, 0}, ReadyReport{false, 7, {}, 11, 1},
        ReadyReport{false, 7, {}, 0, 0}}) {
    const auto ranks = fill(2);
    say_ready(ranks, {{false, 7, {}, 11, 0}, other});
    for (const Rank& rank : ranks) expect_refused(rank, RefusalReason::mismatch, "cannot go on");
  }
  const auto ranks = fill(2);
  say_ready(ranks, {{false, 7, {}, 11, 3}, {false, 7, {}, 11, 3}});
  for (const Rank& rank : ranks) EXPECT_TRUE(rank.ear->groups().has_value());
}

TEST_F(Registry, ARankThatDoesNotSayWhetherItVerifiesMayJoin) {
  const auto ranks = fill(3);
  say_ready(ranks, {{false, 7, true}, {false, 7, {}}, {false, 7, true}});
  for (const Rank& rank : ranks) EXPECT_TRUE(rank.ear->groups().has_value());
  EXPECT_EQ(plane_.started().size(), 1U);
}

TEST_F(Registry, ANameInUseIsRefused) {
  fill(2);
  expect_refused(come(hello_of(0, 2)), RefusalReason::in_use, "'job' is running");
}

TEST_F(Registry, RanksThatDisagreeAboutTheWorldAreTold) {
  const Rank first = come(hello_of(1, 4));
  const Rank second = come(hello_of(0, 2));
  expect_refused(second, RefusalReason::mismatch, "rank 0 says there are 2 ranks, rank 1 says 4");
  EXPECT_EQ(second.ear->refusal()->rank, 1);
  expect_refused(come(hello_of(1, 4)), RefusalReason::in_use, "has a rank 1 already");
  EXPECT_FALSE(first.ear->refusal().has_value());
}

// Not at the hello: the ranks might all come through racks' switches.
TEST_F(Registry, AFlatJobOf300RanksIsRefusedWithTheRemedy) {
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < 300; ++rank) ranks.push_back(come(hello_of(rank, 300)));
  for (const Rank& each : ranks) {
    expect_refused(each, RefusalReason::invalid, "takes 256 workers, and the job has 300 there");
    expect_refused(each, RefusalReason::invalid, "infold switch --parent");
  }
}

TEST_F(Registry, AJobOfMoreRanksThatSumThanSitesIsRefusedWithTheRemedy) {
  JobRegistry without_plane(nullptr, options());
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < 300; ++rank) {
    Hello own = hello_of(rank, 300);
    own.site = SiteAddress{"10.0.0.1:1", 1, true};
    ranks.push_back(come(without_plane, own));
  }
  for (const Rank& each : ranks) {
    expect_refused(each, RefusalReason::invalid, "has 300 sites, and a job has at most 64");
    expect_refused(each, RefusalReason::invalid, "let a switch sum for more ranks");
  }
}

TEST_F(Registry, OfManyMissingRanksTheFirstAreNamed) {
  const Rank first = come(hello_of(0, 1'024));
  pass(base::seconds(21));
  expect_refused(first, RefusalReason::too_late, "1 of 1024 ranks came; missing: rank 1, 2, 3,");
  expect_refused(first, RefusalReason::too_late, ", 32 and 991 more");
}

TEST_F(Registry, AJobOf1024RanksInRacksOf64Starts) {
  constexpr std::uint32_t kRanks = 1'024;
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    Hello own = hello_of(rank, kRanks);
    const std::string rack = "rack " + std::to_string(rank / 64);
    own.rack = RackHello{rack, rack, static_cast<std::uint32_t>(plane_.sites().size()), {}, {}};
    ranks.push_back(come(own));
  }
  make_ready(ranks);
  ASSERT_EQ(plane_.started().size(), 1U);
  EXPECT_EQ(plane_.started()[0].world, kRanks);
  EXPECT_EQ(plane_.started()[0].racks.size(), 16U);
  for (const Rank& each : ranks) ASSERT_TRUE(each.ear->groups().has_value());
  leave(ranks);
  EXPECT_EQ(plane_.forgotten().size(), 1U);
}

TEST_F(Registry, AJobWithoutASiteIsRefused) {
  JobRegistry without_plane(nullptr, options());
  expect_refused(come(without_plane, hello_of(0, 1)), RefusalReason::invalid,
                 "the job has no site");
}

// With its thread, as servers have it.
TEST(RegistryThread, TellsWithoutBeingAsked) {
  FakePlane plane(1);
  JobRegistry registry(&plane);
  const auto first = std::make_shared<Ear>(), second = std::make_shared<Ear>();
  Hello own = hello_of(0, 2);
  const auto entry = registry.enter(own, first);
  own.rank = 1;
  registry.enter(own, second);
  while (!first->terms() || !second->terms()) std::this_thread::yield();
  registry.leave(entry, Parting::lost);
  while (!second->refusal() || !first->was_dismissed()) std::this_thread::yield();
  own.patience = std::chrono::milliseconds(20);
  const auto late = std::make_shared<Ear>();
  registry.enter(own, late);
  while (!late->refusal()) std::this_thread::yield();
  EXPECT_EQ(late->refusal()->reason, RefusalReason::too_late);
}

}  // namespace
}  // namespace infold::join::testing
