// SPDX-License-Identifier: Apache-2.0
//
// What tokens permit: ranks and slots of all living jobs together, whose limits replace those of
// addresses.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

Hello with_token(std::uint32_t rank, std::uint32_t world, const std::string& job,
                 const keys::Grant& grant) {
  Hello own = hello_of(rank, world, job);
  own.address = "10.0.0.1";
  own.grant = grant;
  return own;
}

std::uint32_t slots_of(const Rank& rank) {
  const JobTerms terms = rank.ear->terms().value();
  return std::uint32_t{terms.small_slots} + terms.bulk_slots;
}

TEST_F(Registry, ATokenIsForAsManyRanksOfAllItsJobsTogether) {
  const keys::Grant grant = {.id = 1, .ranks_max = 5};
  const Rank first = come(with_token(0, 3, "a", grant));
  come(with_token(1, 3, "a", grant));  // counts with the job's other ranks
  expect_refused(come(with_token(0, 3, "b", grant)), RefusalReason::full,
                 "the token is for 5 ranks, jobs with it have 3, and this one has 3");
  const Rank second = come(with_token(0, 2, "c", grant));
  EXPECT_FALSE(second.ear->refusal().has_value());
  leave(second);
  EXPECT_FALSE(come(with_token(0, 2, "d", grant)).ear->refusal().has_value());
  EXPECT_FALSE(come(with_token(0, 9, "e", {.id = 2})).ear->refusal().has_value());
}

TEST_F(Registry, AJobThatIsTooLargeForATokenIsNotToBeTriedAgain) {
  expect_refused(come(with_token(0, 6, "a", {.id = 1, .ranks_max = 5})),
                 RefusalReason::not_permitted, "the token is for 5 ranks");
}

// Otherwise a token for few ranks would take the places of a job that another token began.
TEST_F(Registry, AJobCountsForEachTokenOfItsRanks) {
  const keys::Grant large = {.id = 1};
  const keys::Grant small = {.id = 2, .ranks_max = 3};
  const Rank first = come(with_token(0, 4, "a", large));
  expect_refused(come(with_token(1, 4, "a", small)), RefusalReason::not_permitted,
                 "the token is for 3 ranks");
  const Rank other = come(with_token(0, 2, "b", large));
  const Rank guest = come(with_token(1, 2, "b", small));
  EXPECT_TRUE(guest.ear->terms().has_value());
  expect_refused(come(with_token(0, 2, "c", small)), RefusalReason::full, "jobs with it have 2");
}

TEST_F(Registry, ARankThatLeavesWhileOthersGatherCountsNoMore) {
  const keys::Grant large = {.id = 1};
  const keys::Grant small = {.id = 2, .ranks_max = 3};
  come(with_token(0, 3, "a", large));
  const Rank guest = come(with_token(1, 3, "a", small));
  expect_refused(come(with_token(0, 3, "b", small)), RefusalReason::full, "jobs with it have 3");
  leave(guest);
  EXPECT_FALSE(come(with_token(0, 3, "b", small)).ear->refusal().has_value());
}

TEST_F(Registry, ATokenIsForAsManySlotsOfAllItsJobsTogether) {
  const keys::Grant grant = {.id = 1, .slots_max = 100};
  const Rank first = come(with_token(0, 1, "a", grant));
  EXPECT_EQ(slots_of(first), 100U);
  expect_refused(come(with_token(0, 1, "b", grant)), RefusalReason::full,
                 "the token is for 100 slots, and other jobs with it leave none for job 'b'");
  make_ready({first});
  leave(first);
  EXPECT_EQ(slots_of(come(with_token(0, 1, "d", grant))), 100U);
}

TEST_F(Registry, AJobHasTheFewestSlotsThatItsTokensLeave) {
  come(with_token(0, 2, "a", {.id = 1, .slots_max = 70}));
  EXPECT_EQ(slots_of(come(with_token(1, 2, "a", {.id = 2, .slots_max = 20}))), 20U);
  EXPECT_EQ(slots_of(come(with_token(0, 1, "b", {.id = 1, .slots_max = 70}))), 50U);
}

// All ranks of a cluster may come from one address, for example from behind a NAT.
TEST_F(Registry, LimitsOfAddressesAreForStrangersAlone) {
  Hello stranger = hello_of(0, 1);
  stranger.address = "10.0.0.1";
  Rank last;
  for (int job = 0; !last.ear || !last.ear->refusal(); ++job) {
    stranger.job = std::to_string(job);
    last = come(stranger);
  }
  expect_refused(last, RefusalReason::full, "for jobs whose rank 0 is at 10.0.0.1");
  stranger.grant = keys::Grant{.id = 1};
  EXPECT_GT(slots_of(come(stranger)), 0U);
}

TEST_F(Registry, JobsOfAnAddressAreLimitedForStrangersAlone) {
  JobRegistry registry(&plane_, {.clock = [] { return base::Instant{}; },
                                 .on_event = [](const JoinEvent&) {},
                                 .limits = {.jobs_of_address_max = 1},
                                 .has_threads = false});
  Hello stranger = hello_of(0, 2, "a");
  stranger.address = "10.0.0.1";
  EXPECT_FALSE(come(registry, stranger).ear->refusal().has_value());
  stranger.job = "b";
  expect_refused(come(registry, stranger), RefusalReason::full, "1 jobs come from 10.0.0.1");
  EXPECT_FALSE(come(registry, with_token(0, 2, "b", {.id = 1})).ear->refusal().has_value());
}

}  // namespace
}  // namespace infold::join::testing
