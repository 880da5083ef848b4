// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host/host_plan.h"

#include <bit>

#include <gtest/gtest.h>

#include "join/job_plan.h"

namespace infold::rank {
namespace {

// Four ranks at a switch with two sites. The first two ranks share a host.
class HostPlan : public ::testing::Test {
 protected:
  HostPlan() {
    terms_.job = 5;
    terms_.epoch = 9;
    terms_.world = 4;
    terms_.datagram_bytes_max = 1472;
    terms_.elements_max = 8192;
    terms_.small_slots = 64;
    terms_.bulk_slots = 448;
    terms_.groups = {{{0, 2}, "meeting"}};
    plan_ = join::plan_of(terms_);
    plan_.trees.push_back(plan_.trees.front());
  }

  join::JobTerms terms_;
  plan::Plan plan_;
};

TEST_F(HostPlan, RanksOfAJobOnOneHostAreItsSitesAndPacketsAreLong) {
  terms_.groups = {{{0, 4}, "meeting"}};
  const plan::Plan alone = one_host_plan(plan_, terms_);
  ASSERT_EQ(alone.trees.size(), 4U);
  for (std::uint16_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(alone.trees[rank].job, 5);
    EXPECT_EQ(alone.trees[rank].epoch, 9U);
    EXPECT_EQ(alone.trees[rank].aggregators.front().rank, rank);
    EXPECT_TRUE(plan::worker_options(alone, 0).sites[rank].in_memory);
    EXPECT_EQ(plan::aggregator_options(alone, rank, 0).workers.size(), 4U);
  }
  EXPECT_GT(alone.datagram_bytes_max, plan_.datagram_bytes_max);
  EXPECT_TRUE(plan::holds_all_layouts(plan::limits_of(alone), alone.formats));
}

TEST_F(HostPlan, ManyRanksOfOneHostHaveFewSitesAndLinks) {
  plan_.world = 200;
  const plan::Plan alone = one_host_plan(plan_, terms_);
  EXPECT_EQ(alone.trees.size(), 16U);
  const io::MeetingTerms meeting = one_host_meeting(alone, terms_);
  EXPECT_EQ(meeting.members, 200U);
  EXPECT_EQ(meeting.hubs, 16U);
  EXPECT_GE(meeting.shape.places, 2U * alone.slots()) << "what may be in flight each way";
  EXPECT_LE(meeting.hubs * meeting.shape.memory_bytes(), std::size_t{8} << 20) << "of a rank";
}

TEST_F(HostPlan, ALeaderHasALeafForEachSite) {
  const auto leaves = leaves_of(plan_, {0, 2});
  ASSERT_EQ(leaves.size(), 2U);
  for (const core::AggregatorOptions& leaf : leaves) {
    EXPECT_EQ(leaf.workers.size(), 2U) << "the ranks of the group";
    EXPECT_EQ(leaf.world, 4);
    EXPECT_EQ(leaf.slot_count, plan_.slots());
  }
}

// Ranks can meet only if both ends compute the same shape of the memory.
TEST_F(HostPlan, MemoryHasRoomForWhatIsInFlightWithinABound) {
  const io::MeetingTerms few = group_meeting(plan_, terms_, {0, 2});
  EXPECT_EQ(few.members, 2U);
  EXPECT_EQ(few.hubs, 1U);
  EXPECT_EQ(few.shape.channels, 2U);
  EXPECT_EQ(few.shape.datagram_bytes_max, 1472U);
  EXPECT_TRUE(std::has_single_bit(few.shape.places));
  EXPECT_GE(few.shape.places, 2U * 2 * (448 / 4 + 64 / 4));
  plan_.trees.resize(64, plan_.trees.front());
  EXPECT_EQ(group_meeting(plan_, terms_, {0, 2}).shape.places, 2048U);
}

TEST_F(HostPlan, NoTwoJobsMeetInTheSameMemory) {
  const std::uint64_t ticket = group_meeting(plan_, terms_, {0, 2}).ticket;
  terms_.epoch = 10;
  EXPECT_NE(group_meeting(plan_, terms_, {0, 2}).ticket, ticket);
}

}  // namespace
}  // namespace infold::rank
