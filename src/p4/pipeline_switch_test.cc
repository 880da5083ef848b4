// SPDX-License-Identifier: Apache-2.0
//
// What the controller writes into the device.
#include "p4/pipeline_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "p4/pipeline_switch_testing.h"

namespace infold::p4 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

INSTANTIATE_TEST_SUITE_P(All, PipelineSwitchTest,
                         ::testing::Values(TargetKind::bmv2, TargetKind::tofino),
                         [](const auto& each) {
                           return each.param == TargetKind::bmv2 ? "Bmv2" : "Tofino";
                         });

TEST_P(PipelineSwitchTest, PreparesTheDevice) {
  EXPECT_THAT(device_.entries(Table::addresses),
              ElementsAre(Pair(FakeDevice::Keys{kHost, host().port()}, IsEmpty())));
  EXPECT_THAT(device_.groups(), ElementsAre(Pair(kFloodGroup, SizeIs(3))));
  EXPECT_TRUE(device_.is_asked_for(DigestKind::station));
  EXPECT_TRUE(device_.is_asked_for(DigestKind::worker));
  EXPECT_TRUE(switch_->sites().front().record.verifies_checksums) << "or no rank joins";
}

TEST_F(Bmv2SwitchTest, AJobHasEntriesAndClearedRegistersUntilItIsForgotten) {
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    device_.set_slot(slot, {9,
                            3,
                            {FakeDevice::Copy{.round = 9, .state = CopyState::complete},
                             FakeDevice::Copy{.round = 8, .state = CopyState::spoiled}}});
  }
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  EXPECT_THAT(device_.entries(Table::jobs),
              ElementsAre(Pair(FakeDevice::Keys{7},
                               ElementsAre(0, 1007, 0, 4, kElementsMax, 3, kFirstJobGroup, 0))));
  EXPECT_THAT(
      device_.entries(Table::senders),
      ElementsAre(
          Pair(FakeDevice::Keys{0, 0}, ElementsAre(1, kWorkers, core::rank_digest(0), 0, 0, 0)),
          Pair(FakeDevice::Keys{0, 1}, ElementsAre(2, kWorkers, core::rank_digest(1), 0, 0, 0))));
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    const FakeDevice::Slot cleared = device_.slot(slot);
    EXPECT_EQ(cleared.open, 1U);
    EXPECT_EQ(cleared.seen, 0U);
    EXPECT_EQ(cleared.copies[0].round, 0U);
    EXPECT_EQ(cleared.copies[1].round, ~0U);
    for (const FakeDevice::Copy& copy : cleared.copies) {
      EXPECT_EQ(copy.state, CopyState::not_complete);
    }
  }
  EXPECT_EQ(device_.slot(4).open, 9U) << "a slot of no job";

  learn_workers(7);
  EXPECT_THAT(device_.entries(Table::workers), SizeIs(2));
  EXPECT_THAT(device_.groups()[kFirstJobGroup], ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_EQ(device_.entries(Table::senders)[(FakeDevice::Keys{0, 1})][4],
            workers_[1]->local_address().port());

  switch_->forget_job(7);
  for (const Table table : {Table::jobs, Table::senders, Table::workers}) {
    EXPECT_THAT(device_.entries(table), IsEmpty());
  }
  EXPECT_THAT(device_.groups(), SizeIs(1));
}

TEST_F(Bmv2SwitchTest, JobsHaveSlotsAndGroupsOfTheirOwn) {
  ASSERT_TRUE(switch_->start_job(terms_of(1, 6)).has_value());
  ASSERT_TRUE(switch_->start_job(terms_of(2, 6)).has_value());
  const control::Answer<void> third = switch_->start_job(terms_of(3, 6));
  ASSERT_FALSE(third.has_value()) << "four slots are left";
  EXPECT_EQ(third.error().reason, control::RefusalReason::full);
  EXPECT_THAT(third.error().message, HasSubstr("no 6 slots in a row free"));
  switch_->forget_job(1);
  ASSERT_TRUE(switch_->start_job(terms_of(3, 4)).has_value()) << "where the first one was";
  ASSERT_TRUE(switch_->start_job(terms_of(4, 4)).has_value()) << "behind the others";
  std::vector<std::uint64_t> first_slots;
  for (const auto& [keys, parameters] : device_.entries(Table::jobs)) {
    first_slots.push_back(parameters[2]);
  }
  EXPECT_THAT(first_slots, UnorderedElementsAre(6, 0, 12));
  EXPECT_EQ(switch_->start_job(terms_of(4, 1)).error().reason, control::RefusalReason::in_use);
}

TEST_P(PipelineSwitchTest, JobsAreAsManyAsTheProgramHas) {
  switch_.reset();
  auto many = start(2 * (kJobsMax + 1));
  ASSERT_TRUE(many.has_value()) << many.error();
  for (std::uint16_t job = 1; job <= kJobsMax; ++job) {
    ASSERT_TRUE((*many)->start_job(terms_of(job, 2)).has_value()) << job;
  }
  EXPECT_THAT((*many)->start_job(terms_of(99, 2)).error().message, HasSubstr("has 16 jobs"));
}

TEST_P(PipelineSwitchTest, RefusesJobsThatAPipelineCannotRun) {
  control::JobTerms racks = terms_of(1, 4, 4);
  racks.racks = {{0, 2}, {2, 2}};
  racks.rack_sources.assign(2, address("127.0.0.1:0"));
  EXPECT_THAT(switch_->start_job(racks).error().message, HasSubstr("has ranks alone below it"));
  control::JobTerms ipv6 = terms_of(1);
  ipv6.rank_sources[1] = address("[fd00::6]:0");
  const control::Refusal refusal = switch_->start_job(ipv6).error();
  EXPECT_THAT(refusal.message, HasSubstr("rank 1 has the address fd00::6"));
  EXPECT_EQ(refusal.rank, 1);
  control::JobTerms anywhere = terms_of(1);
  anywhere.rank_sources.clear();
  EXPECT_THAT(switch_->start_job(anywhere).error().message, HasSubstr("rank 0 has no address"));
  control::JobTerms here = terms_of(1);
  here.rank_sources[1] = address("127.0.0.1:0");
  EXPECT_THAT(switch_->start_job(here).error().message,
              HasSubstr("rank 1 is on the host of the P4 pipeline's controller"));
  EXPECT_THAT(jobs(), IsEmpty());
}

TEST_P(PipelineSwitchTest, NothingIsLeftOfAJobThatTheDeviceRefuses) {
  device_.limit(Table::senders, 1);
  const control::Answer<void> refused = switch_->start_job(terms_of(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the table is full"));
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_THAT(device_.entries(Table::senders), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
  device_.limit(Table::senders, 99);
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value());
}

TEST_F(Bmv2SwitchTest, RegistersAreClearedThoughPacketsGetLost) {
  device_.lose_packets(9);
  ASSERT_TRUE(switch_->start_job(terms_of(1, 16)).has_value());
  for (std::uint32_t slot = 0; slot < 16; ++slot) EXPECT_EQ(device_.slot(slot).open, 1U);
}

TEST_P(PipelineSwitchTest, AStationThatMovesHasOneEntry) {
  device_.tell(StationNote{0x02, 1});
  device_.tell(StationNote{0x02, 1});
  device_.tell(StationNote{0x010000000002ULL, 1});  // a group's address is no sender's
  device_.tell(StationNote{0x03, 2});
  device_.tell(StationNote{0x02, 3});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations),
              ElementsAre(Pair(FakeDevice::Keys{2}, ElementsAre(3)),
                          Pair(FakeDevice::Keys{3}, ElementsAre(2))));
  EXPECT_THAT(device_.entries(Table::sources),
              ElementsAre(Pair(FakeDevice::Keys{2, 3}, IsEmpty()),
                          Pair(FakeDevice::Keys{3, 2}, IsEmpty())));
}

TEST_P(PipelineSwitchTest, WhatTheDeviceHasRefusedIsNotBelievedToBeThere) {
  device_.limit(Table::sources, 0);
  device_.tell(StationNote{0x02, 1});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations), IsEmpty());
  device_.limit(Table::sources, 9);
  device_.tell(StationNote{0x02, 1});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations), SizeIs(1));
  EXPECT_THAT(device_.entries(Table::sources), SizeIs(1));

  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  device_.limit(Table::workers, 0);
  learn_workers(7);
  EXPECT_THAT(device_.entries(Table::workers), IsEmpty());
  device_.limit(Table::workers, 9);
  learn_workers(7);
  EXPECT_THAT(device_.entries(Table::workers), SizeIs(2));
  EXPECT_THAT(device_.groups()[kFirstJobGroup], ElementsAre(Pair(0, 1), Pair(1, 2)));
}

TEST_P(PipelineSwitchTest, AnEndThatTheDeviceHasRefusedIsWrittenAgain) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  device_.refuse_writes(true);
  switch_->end_job(7, {core::AbortReason::lost, 1, 1, {}, {}});
  EXPECT_FALSE(has_ended(7));
  device_.refuse_writes(false);
  EXPECT_TRUE(watch_until([&] { return has_ended(7); }));
}

TEST_P(PipelineSwitchTest, EntriesThatTheDeviceMayHaveKeepTheirSlots) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  device_.refuse_writes(true);
  switch_->forget_job(7);
  device_.refuse_writes(false);
  ASSERT_TRUE(switch_->start_job(terms_of(8)).has_value());
  const std::uint32_t beside = jobs()[8].first_slot;
  EXPECT_GE(beside, 4U);
  EXPECT_THAT(device_.groups(), SizeIs(3));
  EXPECT_EQ(switch_->start_job(terms_of(7)).error().reason, control::RefusalReason::in_use);
  EXPECT_TRUE(watch_until([&] { return jobs().size() == 1; }));
  EXPECT_TRUE(watch_until([&] { return device_.groups().size() == 2; }));
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  EXPECT_EQ(jobs()[7].first_slot, 0U);
}

TEST_P(PipelineSwitchTest, CountsWhatThePipelineCounts) {
  device_.count(static_cast<std::uint32_t>(core::Verdict::completed), 5);
  device_.count(251, 9);  // passes once more
  device_.count(254, 7);  // other traffic
  device_.count(static_cast<std::uint32_t>(core::Verdict::replayed), -3);
  site::SwitchStatus status = switch_->status();
  EXPECT_EQ(status.packets[site::count_index(core::Verdict::replayed)], 0U);
  EXPECT_EQ(status.packets[site::count_index(core::Verdict::completed)], 5U);
  EXPECT_FALSE(status.counts_traffic);
  device_.stop();
  status = switch_->status();
  EXPECT_EQ(status.packets[site::count_index(core::Verdict::completed)], 5U) << "the last ones";
}

TEST_P(PipelineSwitchTest, ADeviceHasOneController) {
  const auto second = start();
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("takes no other controller: Election id already exists"));
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value()) << "the first one goes on";
  device_.remember_election(41);  // as if the first one had had a higher number
  EXPECT_THAT(start().error(), HasSubstr("has another primary controller"));
  switch_.reset();
  device_.remember_election(41);
  const auto third = start();
  ASSERT_TRUE(third.has_value()) << third.error();
  EXPECT_THAT(jobs(), IsEmpty()) << "of the first one";
  EXPECT_THAT(device_.groups(), ElementsAre(Pair(kFloodGroup, SizeIs(3))));
}

TEST_P(PipelineSwitchTest, ADeviceThatCrashesIsNoticed) {
  ASSERT_TRUE(switch_->start_job(terms_of(1)).has_value());
  device_.stop();
  const base::Instant deadline = io::monotonic_now() + kLong;
  while (switch_->why_lost().empty() && io::monotonic_now() < deadline) switch_->watch(kLook);
  EXPECT_THAT(switch_->why_lost(), HasSubstr("has ended the connection"));
  EXPECT_FALSE(switch_->start_job(terms_of(2)).has_value());
}

TEST(PipelineSwitch, WithoutADeviceItSaysSo) {
  PipelineSwitchOptions options;
  options.listen = address("127.0.0.1:0");
  options.device = {.address = "127.0.0.1:1", .patience = std::chrono::milliseconds(500)};
  const auto started = PipelineSwitch::start(
      options, *Program::of(TargetKind::bmv2, test_program(TargetKind::bmv2)));
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error(), HasSubstr("the P4 device at 127.0.0.1:1"));
}

}  // namespace
}  // namespace infold::p4
