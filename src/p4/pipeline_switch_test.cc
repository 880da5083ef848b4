// SPDX-License-Identifier: Apache-2.0
//
// The controller, against a device that keeps what it is told. Workers are sockets here.
#include "p4/pipeline_switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "io/host/clock.h"
#include "p4/fake_device_testing.h"

namespace infold::p4 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kHost = 0x7F000001;
constexpr base::Duration kLook = base::milliseconds(1);
constexpr base::Duration kLong = base::seconds(20);

io::SocketAddress address(const char* text) { return *io::SocketAddress::parse(text, "test"); }

control::JobTerms terms_of(std::uint16_t number, std::uint16_t slots = 4, std::uint32_t world = 2) {
  control::JobTerms terms;
  terms.job = number;
  terms.epoch = 1000U + number;
  terms.world = world;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = kElementsMax;
  terms.small_slots = 1;
  terms.bulk_slots = static_cast<std::uint16_t>(slots - 1);
  terms.rank_sources.assign(world, address("127.0.0.1:0"));
  return terms;
}

class PipelineSwitchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    base::Attempt<std::unique_ptr<PipelineSwitch>> started = start();
    ASSERT_TRUE(started.has_value()) << started.error();
    switch_ = std::move(*started);
    for (auto& worker : workers_) {
      io::UdpOptions options;
      options.bind = address("127.0.0.1:0");
      worker.emplace(std::move(*io::UdpSocket::open(options)));
    }
  }

  base::Attempt<std::unique_ptr<PipelineSwitch>> start() {
    PipelineSwitchOptions options;
    options.listen = address("127.0.0.1:0");
    options.control = address("127.0.0.1:0");  // the TCP port of that number may be another's
    options.device.address = device_.address();
    options.ports = {1, 2, 3};
    options.slots = 16;
    return PipelineSwitch::start(options, *Program::of(test_program()));
  }

  io::SocketAddress host() { return address(switch_->sites().front().address.c_str()); }

  // Both workers of the job have sent a packet.
  void learn_workers(std::uint16_t index) {
    for (std::uint8_t worker = 0; worker < workers_.size(); ++worker) {
      device_.tell(WorkerNote{index, worker, 0x020000000001ULL + worker,
                              workers_[worker]->local_address().port(), 1U + worker});
    }
    ASSERT_TRUE(device_.wait_for_acknowledgements());
  }

  core::Header header_of(std::uint16_t job, core::Kind kind, std::uint8_t worker) {
    core::Header header;
    header.kind = kind;
    header.job = job;
    header.epoch = 1000U + job;
    header.worker = worker;
    return header;
  }

  // A contribution of one element of 32 bits.
  core::Header add_of(std::uint16_t job, std::uint8_t worker, std::uint16_t elements = 1) {
    core::Header header = header_of(job, core::Kind::add, worker);
    header.round = 1;
    header.signature.elements = elements;
    header.signature.set_layout({core::WireFormat::i32, core::DataType::i32});
    header.contributors = {1, 1, core::rank_digest(worker)};
    return header;
  }

  void send(std::uint8_t worker, const core::Header& header, std::span<const std::byte> body) {
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + body.size());
    core::write_header(header, datagram);
    std::copy(body.begin(), body.end(), datagram.begin() + INFOLD_HEADER_BYTES);
    send(worker, datagram);
  }
  void send(std::uint8_t worker, std::span<const std::byte> datagram) {
    const std::array<io::SocketAddress, 1> to = {host()};
    workers_[worker]->send(to, datagram);
    workers_[worker]->flush();
  }
  void send_add(std::uint8_t worker, const core::Header& header) {
    send(worker, header, std::vector<std::byte>(header.signature.elements * std::size_t{4}));
  }
  void send_abort(std::uint16_t job, std::uint8_t worker, core::AbortReason reason) {
    std::array<std::byte, sizeof(infold_abort)> body;
    core::write_abort({reason, worker, worker, {}, {}}, body.data());
    send(worker, header_of(job, core::Kind::abort, worker), body);
  }

  // Serves the host's packets until one of these has been counted.
  bool serve_until(core::Verdict verdict, std::uint64_t packets = 1) {
    const base::Instant deadline = io::monotonic_now() + kLong;
    while (io::monotonic_now() < deadline) {
      if (switch_->status().packets[site::count_index(verdict)] >= packets) return true;
      switch_->watch(kLook);
    }
    return false;
  }

  // The end that this worker hears. Nothing: it hears none.
  std::optional<core::Abort> heard_by(std::uint8_t worker, base::Duration patience) {
    workers_[worker]->wait(io::monotonic_now() + patience);
    for (const io::UdpSocket::Arrival& arrival : workers_[worker]->receive()) {
      core::Packet packet;
      if (core::parse(arrival.datagram, packet) != core::Malformed::none) continue;
      if (packet.header.kind == core::Kind::aborted) return core::read_abort(packet.body);
    }
    return std::nullopt;
  }

  FakeDevice device_;
  std::array<std::optional<io::UdpSocket>, 2> workers_;
  std::unique_ptr<PipelineSwitch> switch_;  // ends before its device
};

TEST_F(PipelineSwitchTest, PreparesTheDevice) {
  EXPECT_THAT(device_.entries(Table::addresses),
              ElementsAre(Pair(FakeDevice::Keys{kHost, host().port()}, IsEmpty())));
  EXPECT_THAT(device_.groups(), ElementsAre(Pair(kFloodGroup, SizeIs(3))));
  EXPECT_TRUE(device_.is_asked_for(DigestKind::station));
  EXPECT_TRUE(device_.is_asked_for(DigestKind::worker));
  EXPECT_TRUE(switch_->sites().front().record.verifies_checksums) << "or no rank joins";
}

TEST_F(PipelineSwitchTest, AJobHasEntriesAndClearedRegistersUntilItIsForgotten) {
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    device_.set_slot(slot, {9,
                            3,
                            {FakeDevice::Copy{.round = 9, .is_complete = true},
                             FakeDevice::Copy{.round = 8, .is_complete = true}}});
  }
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  EXPECT_THAT(device_.entries(Table::jobs),
              ElementsAre(Pair(FakeDevice::Keys{7},
                               ElementsAre(0, 1007, 0, 4, kElementsMax, 3, kFirstJobGroup, 0))));
  EXPECT_THAT(
      device_.entries(Table::senders),
      ElementsAre(
          Pair(FakeDevice::Keys{0, 0}, ElementsAre(1, kHost, core::rank_digest(0), 0, 0, 0)),
          Pair(FakeDevice::Keys{0, 1}, ElementsAre(2, kHost, core::rank_digest(1), 0, 0, 0))));
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    const FakeDevice::Slot cleared = device_.slot(slot);
    EXPECT_EQ(cleared.open, 1U);
    EXPECT_EQ(cleared.seen, 0U);
    EXPECT_EQ(cleared.copies[0].round, 0U);
    EXPECT_EQ(cleared.copies[1].round, ~0U);
    EXPECT_FALSE(cleared.copies[0].is_complete || cleared.copies[1].is_complete);
  }
  EXPECT_EQ(device_.slot(4).open, 9U) << "a slot of no job";

  learn_workers(0);
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

TEST_F(PipelineSwitchTest, JobsHaveSlotsAndGroupsOfTheirOwn) {
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
  EXPECT_FALSE(switch_->start_job(terms_of(4, 1)).has_value()) << "a living job's number";
}

TEST_F(PipelineSwitchTest, RefusesJobsThatAPipelineCannotRun) {
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
  EXPECT_THAT(device_.entries(Table::jobs), IsEmpty());
}

TEST_F(PipelineSwitchTest, NothingIsLeftOfAJobThatTheDeviceRefuses) {
  device_.limit(Table::senders, 1);
  const control::Answer<void> refused = switch_->start_job(terms_of(1));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the table is full"));
  EXPECT_THAT(device_.entries(Table::jobs), IsEmpty());
  EXPECT_THAT(device_.entries(Table::senders), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
  device_.limit(Table::senders, 2);
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value());
}

TEST_F(PipelineSwitchTest, RegistersAreClearedThoughPacketsGetLost) {
  device_.lose_packets(9);
  ASSERT_TRUE(switch_->start_job(terms_of(1, 16)).has_value());
  for (std::uint32_t slot = 0; slot < 16; ++slot) EXPECT_EQ(device_.slot(slot).open, 1U);
}

TEST_F(PipelineSwitchTest, AStationThatMovesHasOneEntry) {
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

TEST_F(PipelineSwitchTest, AnEndReachesTheWorkersThatAreKnown) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(0);
  switch_->end_job(7, {core::AbortReason::lost, 1, 1, {}, {}});
  EXPECT_EQ(device_.entries(Table::jobs)[FakeDevice::Keys{7}].back(), 1U);
  for (std::uint8_t worker = 0; worker < 2; ++worker) {
    const std::optional<core::Abort> heard = heard_by(worker, kLong);
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->reason, core::AbortReason::lost);
    EXPECT_EQ(heard->rank, 1);
  }
  // The pipeline gives packets of open chunks to the host then.
  send_add(1, add_of(7, 1));
  EXPECT_TRUE(serve_until(core::Verdict::answered_ended));
  EXPECT_TRUE(heard_by(1, kLong).has_value());
}

TEST_F(PipelineSwitchTest, ARankThatLeavesEndsTheJobOnlyForThoseWhoWait) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(0);
  send_abort(7, 0, core::AbortReason::left);
  ASSERT_TRUE(serve_until(core::Verdict::job_ended));
  EXPECT_TRUE(heard_by(0, kLong).has_value());
  EXPECT_FALSE(heard_by(1, base::milliseconds(50)).has_value());

  ASSERT_TRUE(switch_->start_job(terms_of(8)).has_value());
  device_.tell(WorkerNote{1, 1, 5, workers_[1]->local_address().port(), 2});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  device_.set_slot(6, {.open = 1, .seen = 0b10, .copies = {}});  // worker 1 waits for worker 0
  send_abort(8, 0, core::AbortReason::left);
  ASSERT_TRUE(serve_until(core::Verdict::job_ended, 2));
  EXPECT_TRUE(heard_by(0, kLong).has_value());
  EXPECT_TRUE(heard_by(1, kLong).has_value());
}

TEST_F(PipelineSwitchTest, CallsThatDifferEndTheJobAndTheSlotForgetsTheSecond) {
  const core::Header first = add_of(7, 1);
  const core::Header other = add_of(7, 0, 2);
  const std::uint32_t format = std::uint32_t{first.signature.elements} << 16 |
                               std::uint32_t{first.signature.format} << 8 |
                               first.signature.operation;
  // The contribution that differs is the last one, or one of several.
  for (const std::uint32_t world : {2U, 3U}) {
    ASSERT_TRUE(switch_->start_job(terms_of(7, 4, world)).has_value());
    learn_workers(0);
    FakeDevice::Slot slot = {.open = world == 2 ? 2U : 1U, .seen = world == 2 ? 0U : 0b011U};
    slot.copies[1] = {.format = format, .first_worker = 1, .round = 1};
    device_.set_slot(0, slot);
    send_add(0, other);
    ASSERT_TRUE(serve_until(core::Verdict::job_ended, world - 1));
    EXPECT_EQ(device_.slot(0).open, 1U);
    EXPECT_EQ(device_.slot(0).seen, 0b010U);
    for (std::uint8_t worker = 0; worker < 2; ++worker) {
      const std::optional<core::Abort> heard = heard_by(worker, kLong);
      ASSERT_TRUE(heard.has_value());
      EXPECT_EQ(heard->reason, core::AbortReason::mismatch);
      EXPECT_EQ(heard->rank, 0);
      EXPECT_EQ(heard->other, 1);
      EXPECT_EQ(heard->rank_signature.elements, 2);
      EXPECT_EQ(heard->other_signature.elements, 1);
    }
    switch_->forget_job(7);
  }
}

// A packet that was on its way to the host when its job started.
TEST_F(PipelineSwitchTest, AContributionThatFitsEndsNothing) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  send_add(0, add_of(7, 0));
  ASSERT_TRUE(serve_until(core::Verdict::dropped_foreign_job));
  EXPECT_EQ(device_.entries(Table::jobs)[FakeDevice::Keys{7}].back(), 0U);
}

TEST_F(PipelineSwitchTest, PacketsFromElsewhereAndOfOldJobsDoNothing) {
  control::JobTerms terms = terms_of(7);
  terms.rank_sources[0] = address("127.0.0.9:0");
  ASSERT_TRUE(switch_->start_job(terms).has_value());
  send_abort(7, 0, core::AbortReason::left);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_wrong_source));
  core::Header old = header_of(7, core::Kind::abort, 1);
  --old.epoch;
  std::array<std::byte, sizeof(infold_abort)> body;
  core::write_abort({core::AbortReason::left, 1, 1, {}, {}}, body.data());
  send(1, old, body);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_stale_epoch));
  send_abort(6, 1, core::AbortReason::left);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_foreign_job));
  EXPECT_EQ(device_.entries(Table::jobs)[FakeDevice::Keys{7}].back(), 0U);
}

TEST_F(PipelineSwitchTest, NothingThatIsDrawnBreaksIt) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  base::Prng prng(20261126);
  for (int i = 0; i < 300; ++i) {
    switch (prng.below(4)) {
      case 0:
        device_.tell(WorkerNote{static_cast<std::uint16_t>(prng.below(20)),
                                static_cast<std::uint8_t>(prng.below(40)), prng.next() >> 16,
                                static_cast<std::uint16_t>(prng.next()),
                                static_cast<std::uint32_t>(prng.below(600))});
        break;
      case 1:
        device_.tell(StationNote{prng.below(8), static_cast<std::uint32_t>(prng.below(600))});
        break;
      default: {
        core::Header header = add_of(7, static_cast<std::uint8_t>(prng.below(3)));
        std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + 4);
        core::write_header(header, datagram);
        for (std::uint64_t altered = prng.below(3); altered > 0; --altered) {
          datagram[prng.below(datagram.size())] = static_cast<std::byte>(prng.next());
        }
        send(static_cast<std::uint8_t>(prng.below(2)), datagram);
        switch_->watch(kLook);
      }
    }
  }
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations), SizeIs(::testing::Le(8)));
  switch_->forget_job(7);
  EXPECT_THAT(device_.entries(Table::workers), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
}

TEST_F(PipelineSwitchTest, CountsWhatThePipelineCounts) {
  device_.count(static_cast<std::uint32_t>(core::Verdict::completed), 5);
  device_.count(254, 7);  // other traffic
  const site::SwitchStatus status = switch_->status();
  EXPECT_EQ(status.packets[site::count_index(core::Verdict::completed)], 5U);
  EXPECT_FALSE(status.counts_traffic);
}

TEST_F(PipelineSwitchTest, ADeviceHasOneController) {
  const auto second = start();
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error(), HasSubstr("has another primary controller"));
  EXPECT_TRUE(switch_->start_job(terms_of(1)).has_value()) << "the first one goes on";
  switch_.reset();
  device_.remember_election(41);
  const auto third = start();
  ASSERT_TRUE(third.has_value()) << third.error();
  EXPECT_THAT(device_.entries(Table::jobs), IsEmpty()) << "of the first one";
  EXPECT_THAT(device_.groups(), ElementsAre(Pair(kFloodGroup, SizeIs(3))));
}

TEST_F(PipelineSwitchTest, ADeviceThatCrashesIsNoticed) {
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
  const auto started = PipelineSwitch::start(options, *Program::of(test_program()));
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error(), HasSubstr("the P4 device at 127.0.0.1:1"));
}

}  // namespace
}  // namespace infold::p4
