// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host/host_plan.h"

#include <bit>

#include <gtest/gtest.h>

#include "control/job_plan.h"

namespace infold::rank {
namespace {

// Four ranks, of which the first two share a host, at a switch with two sites.
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
    plan_ = control::plan_of(terms_);
    plan_.trees.push_back(plan_.trees.front());
  }

  control::JobTerms terms_;
  plan::Plan plan_;
};

TEST_F(HostPlan, AJobOnOneHostHasOneLeafAndLongPackets) {
  terms_.groups = {{{0, 4}, "meeting"}};
  const plan::Plan alone = one_host_plan(plan_, terms_);
  ASSERT_EQ(alone.trees.size(), 1U);
  EXPECT_EQ(alone.trees.front().job, 5);
  EXPECT_EQ(alone.trees.front().epoch, 9U);
  EXPECT_GT(alone.datagram_bytes_max, plan_.datagram_bytes_max);
  EXPECT_TRUE(plan::holds_all_layouts(plan::limits_of(alone), alone.formats));
  const auto leaves = leaves_of(alone, {0, 4});
  ASSERT_EQ(leaves.size(), 1U);
  EXPECT_EQ(leaves.front().workers.size(), 4U);
  EXPECT_EQ(leaves.front().slot_count, alone.slots());
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

// Whether its shape is equal at both ends decides whether ranks can meet.
TEST_F(HostPlan, MemoryHasRoomForWhatIsInFlightWithinABound) {
  const io::MeetingTerms few = meeting_terms(plan_, terms_);
  EXPECT_EQ(few.shape.channels, 2U);
  EXPECT_EQ(few.shape.datagram_bytes_max, 1472U);
  EXPECT_TRUE(std::has_single_bit(few.shape.places));
  EXPECT_GE(few.shape.places, 2U * 2 * (448 / 4 + 64 / 4));
  plan_.trees.resize(64, plan_.trees.front());
  EXPECT_EQ(meeting_terms(plan_, terms_).shape.places, 2048U);
}

TEST_F(HostPlan, NoTwoJobsMeetInTheSameMemory) {
  const std::uint64_t ticket = meeting_terms(plan_, terms_).ticket;
  terms_.epoch = 10;
  EXPECT_NE(meeting_terms(plan_, terms_).ticket, ticket);
}

}  // namespace
}  // namespace infold::rank
