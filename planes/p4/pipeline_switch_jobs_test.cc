// SPDX-License-Identifier: Apache-2.0
//
// Tests what the controller writes into the device for a job: entries, groups and registers.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planes/p4/pipeline_switch.h"
#include "planes/p4/pipeline_switch_testing.h"

namespace infold::p4 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr std::uint32_t kNobody = 0xFFFFFFFF;

// The keys are job, epoch, worker, kind, contributors and address, in this order.
TEST_P(PipelineSwitchTest, AWorkerHasThreeEntriesAndTheLastOneAllBitsBeyond) {
  ASSERT_TRUE(switch_->start_job(terms_of(7, 4, 3)).has_value());
  const auto entry = [](std::uint64_t worker, core::Kind kind, std::uint64_t count,
                        std::uint64_t digest, std::uint32_t others, std::uint64_t has_ended) {
    return std::pair<const FakeDevice::Keys, std::vector<std::uint64_t>>(
        {7, 1007, worker, static_cast<std::uint64_t>(kind), count, count, digest, kWorkers},
        {0, others, 0b111, kFirstJobGroup, has_ended});
  };
  const auto entries = [&](const std::array<std::uint32_t, 3>& others, std::uint64_t has_ended) {
    FakeDevice::Entries wanted;
    for (std::uint8_t worker = 0; worker < 3; ++worker) {
      const std::uint32_t digest = core::rank_digest(worker);
      wanted.insert(entry(worker, core::Kind::add, 1, digest, others[worker], has_ended));
      wanted.insert(entry(worker, core::Kind::skip, 0, 0, others[worker], has_ended));
      wanted.insert(entry(worker, core::Kind::query, 0, 0, kNobody, has_ended));
    }
    return wanted;
  };
  EXPECT_EQ(device_.entries(Table::senders), entries({0xFFFFFFFE, 0xFFFFFFFD, 0b011}, 0));
  switch_->end_job(7, {core::AbortReason::lost, 1, 1, {}, {}});
  EXPECT_EQ(device_.entries(Table::senders), entries({kNobody, kNobody, kNobody}, 1));
  switch_->forget_job(7);
  EXPECT_THAT(device_.entries(Table::senders), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
}

TEST_P(PipelineSwitchTest, ARankOfThirtyTwoHasOneBit) {
  ASSERT_TRUE(switch_->start_job(terms_of(7, 4, 32)).has_value());
  const FakeDevice::Entries senders = device_.entries(Table::senders);
  EXPECT_THAT(senders, SizeIs(96));
  for (const auto& [keys, parameters] : senders) {
    EXPECT_EQ(parameters[2], kNobody);
    if (keys[3] != static_cast<std::uint64_t>(core::Kind::query)) {
      EXPECT_EQ(parameters[1], kNobody ^ (1U << keys[2]));
    }
  }
}

TEST_P(PipelineSwitchTest, WhatAnEarlierJobHasLeftCannotBeAskedFor) {
  for (const std::uint32_t slot : {0U, 3U, kSlotsOfJob - 1, kSlotsOfJob}) {
    FakeDevice::Slot left = {.open = 9, .seen = 3, .copies = {}};
    left.copies.fill({.layout = 0x00010200, .shape = 5, .is_spoiled = true});
    device_.set_slot(slot, left);
  }
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  for (std::uint32_t slot = 0; slot < kSlotsOfJob; ++slot) {
    const FakeDevice::Slot cleared = device_.slot(slot);  // three equal registers
    EXPECT_EQ(cleared.open, 1U);
    EXPECT_EQ(cleared.seen, 0U);
    for (const FakeDevice::Copy& copy : cleared.copies) {
      EXPECT_EQ(copy.layout, kNobody) << "of no packet that is summed";
      EXPECT_EQ(copy.shape, kNobody);
      EXPECT_FALSE(copy.is_spoiled);
    }
  }
  EXPECT_EQ(device_.slot(kSlotsOfJob).open, 9U) << "a slot of another job's place";
}

TEST_F(Bmv2SwitchTest, RegistersAreClearedThoughPacketsGetLost) {
  device_.lose_packets(9);
  ASSERT_TRUE(switch_->start_job(terms_of(1, 16)).has_value());
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    EXPECT_EQ(device_.slot(slot).open, 1U);
    for (const FakeDevice::Copy& copy : device_.slot(slot).copies) EXPECT_EQ(copy.layout, kNobody);
  }
}

TEST_P(PipelineSwitchTest, AWorkerThatMovesIsKnownAtOnePlace) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(7);
  EXPECT_THAT(device_.entries(Table::places), SizeIs(2));
  EXPECT_THAT(device_.groups()[kFirstJobGroup], ElementsAre(Pair(0, 1), Pair(1, 2)));
  device_.tell(WorkerNote{7, 0, 0x0200000000FFULL, 4000, 3});
  device_.tell(WorkerNote{7, 1, 5, 4000, limits_of(kind_).port_max + 1});
  device_.tell(WorkerNote{7, 2, 5, 4000, 3});  // not a worker of the job
  device_.tell(WorkerNote{6, 1, 5, 4000, 3});  // not a job
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::places),
              ElementsAre(Pair(FakeDevice::Keys{7, 0, 0x0200000000FFULL, 4000, 3}, IsEmpty()),
                          Pair(FakeDevice::Keys{7, 1, 0x020000000002ULL,
                                                workers_[1]->local_address().port(), 2},
                               IsEmpty())));
  EXPECT_EQ(device_.entries(Table::workers)[(FakeDevice::Keys{7, 0})],
            (std::vector<std::uint64_t>{0x0200000000FFULL, kWorkers, 4000}));
  EXPECT_THAT(device_.groups()[kFirstJobGroup], ElementsAre(Pair(0, 3), Pair(1, 2)));
  switch_->forget_job(7);
  EXPECT_THAT(device_.entries(Table::places), IsEmpty());
  EXPECT_THAT(device_.entries(Table::workers), IsEmpty());
}

TEST_P(PipelineSwitchTest, APlaceThatTheDeviceKeepsIsDeletedBeforeTheNextIsWritten) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(7);
  device_.refuse_writes(true);
  device_.tell(WorkerNote{7, 0, 0x0200000000FFULL, 4000, 3});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  device_.refuse_writes(false);
  EXPECT_EQ(device_.entries(Table::places).begin()->first[2], 0x020000000001ULL);
  device_.tell(WorkerNote{7, 0, 0x0200000000FFULL, 4000, 3});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::places), SizeIs(2));
  EXPECT_EQ(device_.entries(Table::places).begin()->first[2], 0x0200000000FFULL);
}

TEST_P(PipelineSwitchTest, JobsHaveSlotsAndGroupsOfTheirOwn) {
  EXPECT_EQ(switch_->slots_total(), 16U) << "that jobs get; each has its place all the same";
  ASSERT_TRUE(switch_->start_job(terms_of(1, 6)).has_value());
  ASSERT_TRUE(switch_->start_job(terms_of(2, 6)).has_value());
  switch_->forget_job(1);
  ASSERT_TRUE(switch_->start_job(terms_of(3, 4)).has_value()) << "where the first one was";
  ASSERT_TRUE(switch_->start_job(terms_of(4, 4)).has_value()) << "behind the others";
  std::map<std::uint64_t, std::uint64_t> groups;
  for (const auto& [keys, parameters] : device_.entries(Table::senders)) {
    groups[keys[0]] = parameters[3];
  }
  EXPECT_THAT(groups, ElementsAre(Pair(2, kFirstJobGroup + 1), Pair(3, kFirstJobGroup),
                                  Pair(4, kFirstJobGroup + 2)));
  EXPECT_EQ(jobs()[2].first_slot, 256U);
  EXPECT_EQ(jobs()[3].first_slot, 0U);
  EXPECT_EQ(jobs()[4].first_slot, 512U);
  EXPECT_EQ(switch_->start_job(terms_of(4, 1)).error().reason, join::RefusalReason::in_use);
}

TEST_P(PipelineSwitchTest, AJobHasAPlaceFor256Slots) {
  switch_.reset();
  ASSERT_TRUE(device_.wait_for_no_primary());
  auto many = start(60'000);
  ASSERT_TRUE(many.has_value()) << many.error();
  EXPECT_EQ((*many)->slots_total(), 4096U) << "all that the program has";
  EXPECT_EQ((*many)->slots_of_job_max(), 256U);
  const join::Refusal refusal = (*many)->start_job(terms_of(1, 257)).error();
  EXPECT_EQ(refusal.reason, join::RefusalReason::invalid);
  EXPECT_THAT(refusal.message, HasSubstr("wants 257 slots; the P4 pipeline has 256"));
  for (std::uint16_t job = 1; job <= kJobsMax; ++job) {
    ASSERT_TRUE((*many)->start_job(terms_of(job, 256)).has_value()) << job;
  }
  for (std::uint16_t job = 1; job <= kJobsMax; ++job) {
    EXPECT_EQ(jobs()[job].first_slot, (job - 1U) * 256) << job;
  }
  EXPECT_THAT((*many)->start_job(terms_of(99, 2)).error().message, HasSubstr("has 16 jobs"));
  (*many)->forget_job(5);
  ASSERT_TRUE((*many)->start_job(terms_of(99, 2)).has_value());
  EXPECT_EQ(jobs()[99].first_slot, 4U * 256);
}

}  // namespace
}  // namespace infold::p4
