// SPDX-License-Identifier: Apache-2.0
//
// Tests what the controller writes into the device.
#include "planes/p4/pipeline_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/address/listen.h"
#include "planes/p4/pipeline_switch_testing.h"

namespace infold::p4 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

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
}

TEST_P(PipelineSwitchTest, TheRecordSaysWhatItSums) {
  const core::SiteRecord record = switch_->sites().front().record;
  EXPECT_EQ(record.formats, core::FormatSet({core::WireFormat::i32}));
  const core::ReductionSet of_tofino = {core::Reduction::sum, core::Reduction::average,
                                        core::Reduction::max};
  EXPECT_EQ(record.reductions, kind_ == TargetKind::tofino ? of_tofino : core::ReductionSet::all());
  EXPECT_TRUE(record.is_big_endian);
  EXPECT_TRUE(record.verifies_checksums) << "or no rank joins";
  EXPECT_EQ(record.workers_max, 32U);
  EXPECT_EQ(record.elements_max, 64U);
}

TEST_P(PipelineSwitchTest, RefusesJobsThatAPipelineCannotRun) {
  join::JobTerms racks = terms_of(1, 4, 4);
  racks.racks = {{0, 2}, {2, 2}};
  racks.rack_sources.assign(2, address("127.0.0.1:0"));
  EXPECT_THAT(switch_->start_job(racks).error().message, HasSubstr("has ranks alone below it"));
  join::JobTerms ipv6 = terms_of(1);
  ipv6.rank_sources[1] = address("[fd00::6]:0");
  const join::Refusal refusal = switch_->start_job(ipv6).error();
  EXPECT_THAT(refusal.message, HasSubstr("rank 1 has the address fd00::6"));
  EXPECT_EQ(refusal.rank, 1);
  join::JobTerms anywhere = terms_of(1);
  anywhere.rank_sources.clear();
  EXPECT_THAT(switch_->start_job(anywhere).error().message, HasSubstr("rank 0 has no address"));
  join::JobTerms here = terms_of(1);
  here.rank_sources[1] = address("127.0.0.1:0");
  EXPECT_THAT(switch_->start_job(here).error().message,
              HasSubstr("rank 1 is on the host of the P4 pipeline's controller"));
  EXPECT_THAT(switch_->start_job(terms_of(1, 4, 1)).error().message,
              HasSubstr("sums for 2 ranks and more"));
  EXPECT_THAT(jobs(), IsEmpty());
}

TEST_F(TofinoSwitchTest, ARankBehindAnotherPipeIsRefused) {
  mac_of_ranks_ = 0x02;
  ASSERT_TRUE(switch_->start_job(terms_of(1)).has_value()) << "nobody knows where it is";
  device_.tell(StationNote{0x02, 130});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations),
              ElementsAre(Pair(FakeDevice::Keys{2}, ElementsAre(130))));
  const join::Answer<void> refused = switch_->start_job(terms_of(2));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message,
              HasSubstr("rank 0 is behind port 130 of the P4 device; only ports 0 to 67 reach"));
  EXPECT_EQ(refused.error().rank, 0);
  device_.tell(StationNote{0x02, 3});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_TRUE(switch_->start_job(terms_of(2)).has_value()) << "it has moved";
}

TEST(PipelineSwitch, AServerThatWritesBitStringsAloneIsRefusedAtTheStart) {
  FakeDevice device(TargetKind::tofino);
  device.refuse_structs();
  PipelineSwitchOptions options;
  options.listen = address("127.0.0.1:0");
  options.device.address = device.address();
  options.ports = {1};
  const auto started = PipelineSwitch::start(
      options, *Program::of(TargetKind::tofino, test_program(TargetKind::tofino)));
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error(), HasSubstr("only bit strings"));
  EXPECT_THAT(started.error(), HasSubstr("needs a P4Runtime server that reads and writes"));
}

TEST_P(PipelineSwitchTest, NothingIsLeftOfAJobThatTheDeviceRefuses) {
  device_.limit(Table::senders, 1);
  const join::Answer<void> refused = switch_->start_job(terms_of(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the table is full"));
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_THAT(device_.entries(Table::senders), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
  device_.limit(Table::senders, 99);
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value());
}

TEST_P(PipelineSwitchTest, AStationThatMovesHasOneEntry) {
  device_.tell(StationNote{0x02, 1});
  device_.tell(StationNote{0x02, 1});
  device_.tell(StationNote{0x010000000002ULL, 1});  // a group's address cannot send
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

TEST_P(PipelineSwitchTest, WordsOfTheDeviceCannotMoveTheCursor) {
  device_.refuse_writes(true, "busy\x1b[2J\nok\x7f\xc2\x9b");
  const join::Answer<void> refused = switch_->start_job(terms_of(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("busy?[2J?ok???"));
}

TEST_P(PipelineSwitchTest, EntriesThatTheDeviceMayHaveKeepTheirSlots) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  device_.refuse_writes(true);
  switch_->forget_job(7);
  device_.refuse_writes(false);
  ASSERT_TRUE(switch_->start_job(terms_of(8)).has_value());
  EXPECT_EQ(jobs()[8].first_slot, kSlotsOfJob);
  EXPECT_THAT(device_.groups(), SizeIs(3));
  EXPECT_EQ(switch_->start_job(terms_of(7)).error().reason, join::RefusalReason::in_use);
  EXPECT_TRUE(watch_until([&] { return jobs().size() == 1; }));
  EXPECT_TRUE(watch_until([&] { return device_.groups().size() == 2; }));
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  EXPECT_EQ(jobs()[7].first_slot, 0U);
}

TEST_P(PipelineSwitchTest, CountsWhatThePipelineCounts) {
  device_.count(static_cast<std::uint32_t>(core::Verdict::completed), 5);
  device_.count(251, 9);  // packets that pass again
  device_.count(254, 7);  // other traffic
  device_.count(static_cast<std::uint32_t>(core::Verdict::replayed), -3);
  status::SwitchMetrics metrics = switch_->metrics();
  EXPECT_EQ(metrics.packets_of("replayed"), 0U);
  EXPECT_EQ(metrics.packets_of("completed"), 5U);
  EXPECT_FALSE(metrics.counts_traffic);
  device_.stop();
  metrics = switch_->metrics();
  EXPECT_EQ(metrics.packets_of("completed"), 5U) << "the last ones";
}

TEST_P(PipelineSwitchTest, ADeviceHasOneController) {
  const auto second = start();
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("takes no other controller: Election id already exists"));
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value()) << "the first one goes on";
  device_.remember_election(41);  // The device then remembers a higher election than the first one.
  EXPECT_THAT(start().error(), HasSubstr("has another primary controller"));
  switch_.reset();
  ASSERT_TRUE(device_.wait_for_no_primary());
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

TEST_F(Bmv2SwitchTest, AnAddressThatIsTakenIsNamedWithItsOption) {
  FakeDevice other(TargetKind::bmv2);
  const auto error_of = [&](const io::SocketAddress& listen, const io::SocketAddress& join) {
    PipelineSwitchOptions options;
    options.listen = listen;
    options.join_address = join;
    options.device.address = other.address();
    options.ports = {1};
    const auto started = PipelineSwitch::start(
        options, *Program::of(TargetKind::bmv2, test_program(TargetKind::bmv2)));
    return started ? "" : started.error();
  };
  EXPECT_EQ(error_of(host(), {}), "--listen " + host().text() + ": the address is in use");
  const io::SocketAddress any = address("127.0.0.1:0");
  const std::string taken = switch_->join_address().text();
  EXPECT_EQ(error_of(any, switch_->join_address()),
            "--join " + taken +
                ": the address is in use; name an address of this host whose TCP port is free");
}

TEST_F(Bmv2SwitchTest, RanksJoinAtTheAddressOfPacketsUnlessItIsTaken) {
  const io::SocketAddress packets = host();
  const auto taken = io::listen_at(packets, "test");  // unless another process has it already
  switch_.reset();
  ASSERT_TRUE(device_.wait_for_no_primary());
  PipelineSwitchOptions options;
  options.listen = packets;
  options.device.address = device_.address();
  options.ports = {1};
  const auto started = PipelineSwitch::start(
      options, *Program::of(TargetKind::bmv2, test_program(TargetKind::bmv2)));
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error(), "--listen " + packets.text() +
                                 ": the address is in use; ranks join there over TCP, unless "
                                 "--join names another address");
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
