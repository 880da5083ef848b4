// SPDX-License-Identifier: Apache-2.0
//
// How much room a job gets: slots, and the limits for all jobs and for those of one address.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

// Of 1000: all that it wants, then an eighth of the free ones, then 16 each.
TEST_F(Registry, LaterJobsGetFewerSlotsUntilNoneAreLeft) {
  std::vector<int> granted;
  std::uint32_t free = registry_.slots_free();
  for (;;) {
    const Rank rank = come(hello_of(0, 1, "job " + std::to_string(granted.size())));
    if (rank.ear->refusal()) {
      expect_refused(rank, RefusalReason::full, "has 3 of 1000 slots left");
      EXPECT_THAT(rank.ear->refusal()->message, HasSubstr("wants 16"));
      break;
    }
    const JobTerms terms = *rank.ear->terms();
    EXPECT_GT(terms.small_slots, 0);
    EXPECT_GT(terms.bulk_slots, terms.small_slots);
    granted.push_back(terms.small_slots + terms.bulk_slots);
    free -= static_cast<std::uint32_t>(granted.back());
    EXPECT_EQ(registry_.slots_free(), free);
  }
  EXPECT_THAT(granted, ::testing::ElementsAre(512, 61, 53, 46, 41, 35, 31, 27, 24, 21, 18, 16, 16,
                                              16, 16, 16, 16, 16, 16));
}

// The jobs of a PyTorch program's groups all have rank 0 at one address, and it may have two dozen.
TEST_F(Registry, TwoDozenGroupsOfOneAddressFitASwitchAsItIsStarted) {
  plane_.slots = 4096;
  int jobs = 0;
  for (;; ++jobs) {
    Hello own = hello_of(0, 1, "group " + std::to_string(jobs));
    own.address = "10.0.0.1";
    const Rank rank = come(own);
    if (rank.ear->refusal()) break;
    const JobTerms terms = *rank.ear->terms();
    EXPECT_GE(terms.small_slots + terms.bulk_slots, jobs < 4 ? 512 : 16) << jobs;
  }
  EXPECT_EQ(jobs, 27);
}

// The sizing that docs/howto.md gives.
TEST_F(Registry, JobsOfOneAddressGetAllThatTheyAskForOf911SlotsEach) {
  plane_.slots = 911 * 24;
  for (int job = 0; job < 24; ++job) {
    Hello own = hello_of(0, 1, "group " + std::to_string(job));
    own.address = "10.0.0.1";
    const JobTerms terms = come(own).ear->terms().value();
    EXPECT_EQ(terms.small_slots + terms.bulk_slots, 512) << job;
  }
}

TEST_F(Registry, AJobAloneGetsWhatASmallSwitchHas) {
  for (const std::uint32_t total : {64U, 400U}) {
    plane_.slots = total;
    const auto ranks = run(1);
    const JobTerms terms = *ranks[0].ear->terms();
    EXPECT_EQ(terms.small_slots + terms.bulk_slots, static_cast<int>(total));
    leave(ranks);
  }
}

TEST_F(Registry, AJobGetsNoMoreThanAJobMayHave) {
  plane_.slots = 4096;
  plane_.slots_of_job = 256;
  const auto ranks = run(1);
  const JobTerms terms = *ranks[0].ear->terms();
  EXPECT_EQ(terms.small_slots, 32);
  EXPECT_EQ(terms.bulk_slots, 224);
}

// The first job does not get all slots, even if it asks for all.
TEST_F(Registry, AQuarterOfTheSlotsStaysForOtherAddresses) {
  plane_.slots = 4096;
  Hello greedy = hello_of(0, 1, "greedy");
  greedy.bulk_slots = 30'000;
  greedy.address = "10.0.0.1";
  const Rank first = come(greedy);
  ASSERT_TRUE(first.ear->terms().has_value());
  EXPECT_EQ(first.ear->terms()->small_slots + first.ear->terms()->bulk_slots, 2304);
  std::uint32_t held = 2304;
  Rank last = first;
  for (int job = 0; !last.ear->refusal(); ++job) {
    greedy.job = std::to_string(job);
    last = come(greedy);
    if (last.ear->terms()) held += last.ear->terms()->small_slots + last.ear->terms()->bulk_slots;
  }
  expect_refused(last, RefusalReason::full, "for jobs whose rank 0 is at 10.0.0.1");
  EXPECT_LE(held, 3072U);
  Hello honest = hello_of(0, 1, "honest");
  honest.address = "10.0.0.2";
  ASSERT_TRUE(come(honest).ear->terms().has_value());
}

TEST_F(Registry, OneAddressMayNotHaveAllJobs) {
  RegistryOptions few = options();
  few.limits.jobs_max = 3;
  few.limits.jobs_of_address_max = 2;
  JobRegistry registry(&plane_, few);
  const auto come_from = [&](const std::string& address, const std::string& job) {
    Hello own = hello_of(0, 2, job);
    own.address = address;
    return come(registry, own);
  };
  come_from("a", "1");
  const Rank second = come_from("a", "2");
  expect_refused(come_from("a", "3"), RefusalReason::full,
                 "2 jobs come from a, which is the limit");
  EXPECT_FALSE(come_from("b", "4").ear->refusal().has_value());
  expect_refused(come_from("b", "5"), RefusalReason::full, "has 3 jobs, which is its limit");
  registry.leave(second.entry, Parting::lost);
  EXPECT_FALSE(come_from("a", "6").ear->refusal().has_value());
}

// An address that never sends rank 0 may not have all jobs either.
TEST_F(Registry, AJobCountsForTheAddressOfTheRankThatCameFirst) {
  RegistryOptions few = options();
  few.limits.jobs_max = 4;
  few.limits.jobs_of_address_max = 2;
  few.limits.places_of_address_max = 6;
  JobRegistry registry(&plane_, few);
  const auto come_from = [&](const std::string& address, std::size_t rank, const std::string& job) {
    Hello own = hello_of(rank, 3, job);
    own.address = address;
    return come(registry, own);
  };
  come_from("a", 1, "1");
  come_from("a", 2, "2");
  expect_refused(come_from("a", 1, "3"), RefusalReason::full,
                 "2 jobs come from a, which is the limit");
  // Rank 0 joins the job of another address without counting for its own.
  EXPECT_FALSE(come_from("b", 0, "1").ear->refusal().has_value());
  come_from("b", 1, "4");
  EXPECT_FALSE(come_from("b", 1, "5").ear->refusal().has_value());
  expect_refused(come_from("b", 1, "6"), RefusalReason::full, "has 4 jobs, which is its limit");
}

// Any rank of a job may come first, and the slots of a run must not depend on that.
TEST_F(Registry, SlotsCountForTheAddressOfRank0) {
  plane_.slots = 4096;
  const auto slots_of = [&](const std::string& job, const std::string& last,
                            const std::string& rank0) {
    Hello own = hello_of(1, 2, job);
    own.address = last;
    come(own);
    own = hello_of(0, 2, job);
    own.address = rank0;
    const JobTerms terms = come(own).ear->terms().value();
    return terms.small_slots + terms.bulk_slots;
  };
  for (const char* const job : {"1", "2", "3", "4"}) EXPECT_EQ(slots_of(job, "b", "a"), 512);
  EXPECT_LT(slots_of("5", "b", "a"), 512);
  EXPECT_EQ(slots_of("6", "a", "b"), 512);
}

// Each job has a place for each of its ranks, however few of them come.
TEST_F(Registry, JobsHaveAllPlacesTogetherAndOneAddressAShare) {
  RegistryOptions few = options();
  few.limits.places_max = 2'500;
  few.limits.places_of_address_max = 1'500;
  JobRegistry registry(&plane_, few);
  const auto come_from = [&](const std::string& address, const std::string& job,
                             std::size_t world) {
    Hello own = hello_of(0, world, job);
    own.address = address;
    return come(registry, own);
  };
  expect_refused(come_from("d", "0", 1'501), RefusalReason::full,
                 "jobs of 0 ranks come from d, and 1501 more would exceed the limit for one");
  const Rank first = come_from("a", "1", 1'000);
  expect_refused(come_from("a", "2", 501), RefusalReason::full,
                 "jobs of 1000 ranks come from a, and 501 more would exceed the limit for one");
  EXPECT_FALSE(come_from("a", "3", 500).ear->refusal().has_value());
  EXPECT_FALSE(come_from("b", "4", 1'000).ear->refusal().has_value());
  expect_refused(come_from("c", "5", 1), RefusalReason::full,
                 "the jobs at the switch have 2500 ranks, and 1 more would exceed its limit, 2500");
  registry.leave(first.entry, Parting::lost);
  EXPECT_FALSE(come_from("c", "6", 1'000).ear->refusal().has_value());
  expect_refused(come_from("c", "7", 1), RefusalReason::full, "would exceed its limit");
}

}  // namespace
}  // namespace infold::join::testing
