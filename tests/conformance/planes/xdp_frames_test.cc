// SPDX-License-Identifier: Apache-2.0
//
// Tests frames that vectors cannot express: other traffic, which must cross untouched, and frames
// to the switch with wrong lengths or checksums. Also tests which options the loader takes and
// refuses.
#ifdef INFOLD_XDP

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "planes/xdp/program/frame.h"
#include "tests/conformance/planes/xdp_plane.h"

namespace infold::conformance {
namespace {

constexpr std::uint32_t kDrop = 1;  // enum xdp_action
constexpr std::uint32_t kPass = 2;

class XdpFrames : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    plane_ = XdpPlane::shared(&why_not);
    if (plane_ == nullptr) GTEST_SKIP() << why_not;
    plane_->use_ipv6(false);
    PlaneJob job;
    ASSERT_EQ(plane_->configure(job), "");
  }

  std::vector<std::byte> query() const { return query_of(7); }
  std::vector<std::byte> query_of(std::uint16_t job) const {
    core::Header header;
    header.kind = core::Kind::query;
    header.job = job;
    header.epoch = 3;
    header.round = 1;
    header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES);
    core::write_header(header, datagram);
    return datagram;
  }

  xdp::TestRun run(std::span<const std::byte> frame) {
    auto result = plane_->program().test_run(frame);
    EXPECT_TRUE(result.has_value());
    return *result;
  }

  void expect_untouched(const std::vector<std::byte>& frame, const char* what) {
    const xdp::Counters before = plane_->program().counters();
    const std::uint64_t received_before = plane_->program().traffic().received_packets;
    const xdp::TestRun result = run(frame);
    EXPECT_EQ(result.action, kPass) << what;
    EXPECT_EQ(result.note.magic, 0U) << what;
    EXPECT_EQ(result.frame, frame) << what;
    EXPECT_EQ(plane_->program().counters(), before) << what;
    EXPECT_EQ(plane_->program().traffic().received_packets, received_before) << what;
  }

  void expect_dropped(const std::vector<std::byte>& frame, const char* counted) {
    plane_->inject_frame(frame);
    EXPECT_EQ(plane_->verdict(), counted);
    EXPECT_EQ(run(frame).action, kDrop) << counted;
  }

  XdpPlane* plane_ = nullptr;
};

// This holds even if its length equals that of a whole chunk.
TEST_F(XdpFrames, WhatLeavesOutZerosIsMalformed) {
  core::Header header;
  header.flags = INFOLD_FLAG_SPARSE;
  header.job = 7;
  header.epoch = 3;
  header.round = 1;
  header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
  header.contributors = {1, 1, core::rank_digest(0)};
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + 16 * sizeof(std::int32_t));
  for (const core::Kind kind : {core::Kind::add, core::Kind::result}) {
    header.kind = kind;
    core::write_header(header, datagram);
    expect_dropped(plane_->frame_of(datagram), "dropped_malformed");
  }
}

// The program sends nothing to a parent that it has not heard from, and takes nothing from others.
TEST_F(XdpFrames, AParentIsFoundByTheEchoOfAProbe) {
  const auto own = *io::SocketAddress::parse("10.0.0.1:7700", "test");
  const auto parent = *io::SocketAddress::parse("10.0.0.9:7701", "test");
  const auto stranger = *io::SocketAddress::parse("10.0.0.8:7701", "test");
  core::AggregatorOptions options;
  options.job = 9;
  options.epoch = 3;
  options.world = 4;
  options.workers = {{0, 1}, {1, 1}};
  options.parent_worker = 0;
  xdp::Program& program = plane_->program();
  ASSERT_TRUE(program.add_job(options, {.parent = parent}).has_value());

  core::Header header;
  header.kind = core::Kind::result;
  header.job = 9;
  header.epoch = 3;
  header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
  std::vector<std::byte> result(INFOLD_HEADER_BYTES);
  core::write_header(header, result);
  std::vector<std::byte> echo = result;
  echo[0] = std::byte{INFOLD_ECHO_MAGIC};

  EXPECT_EQ(program.interface_of_parent(9), 0U);
  expect_dropped(xdp::make_frame({stranger, own}, echo), "dropped_wrong_way");
  expect_dropped(xdp::make_frame({stranger, own}, result), "dropped_wrong_way");
  EXPECT_EQ(program.interface_of_parent(9), 0U);
  std::vector<std::byte> other_epoch = echo;
  other_epoch[11] = std::byte{4};
  expect_dropped(xdp::make_frame({parent, own}, other_epoch), "dropped_malformed");
  std::vector<std::byte> damaged = xdp::make_frame({parent, own}, echo);
  damaged.back() ^= std::byte{1};
  expect_dropped(damaged, "dropped_checksum");
  EXPECT_EQ(program.interface_of_parent(9), 0U);

  plane_->inject_frame(xdp::make_frame({parent, own}, echo));
  EXPECT_EQ(plane_->verdict(), "heard_echo");
  EXPECT_EQ(run(xdp::make_frame({parent, own}, echo)).action, kPass) << "the host wants it, too";
  EXPECT_NE(program.interface_of_parent(9), 0U);
  expect_dropped(xdp::make_frame({stranger, own}, result), "dropped_wrong_way");
  expect_dropped(xdp::make_frame({parent, own}, result), "dropped_repeat");
  program.remove_job(9);
  EXPECT_EQ(program.interface_of_parent(9), 0U);
}

TEST_F(XdpFrames, OtherTrafficCrossesUntouched) {
  const std::vector<std::byte> ours = plane_->frame_of(query());
  const auto with = [&ours](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> frame = ours;
    frame.at(at) = std::byte{value};
    return frame;
  };
  expect_untouched(with(12, 0x81), "VLAN");
  expect_untouched(with(13, 0x06), "ARP");
  expect_untouched(with(14, 0x46), "IPv4 with options");
  expect_untouched(with(14, 0x65), "IPv6 in an IPv4 frame");
  expect_untouched(with(20, 0x20), "the first fragment");
  expect_untouched(with(21, 0x01), "a later fragment");
  expect_untouched(with(23, 6), "TCP");
  expect_untouched(with(23, 1), "ICMP");
  expect_untouched(with(33, 9), "another address");
  expect_untouched(with(37, 99), "another port");
  for (std::size_t bytes = 14; bytes < 42; ++bytes) {
    expect_untouched({ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(bytes)}, "short");
  }

  plane_->use_ipv6(true);
  std::vector<std::byte> six = plane_->frame_of(query());
  six.at(53) = std::byte{9};
  expect_untouched(six, "another IPv6 address");
  six = plane_->frame_of(query());
  six.at(20) = std::byte{44};
  expect_untouched(six, "an IPv6 fragment");
}

TEST_F(XdpFrames, AProbeGoesBackToItsSender) {
  constexpr std::uint32_t kSendBack = 3;
  for (const bool ipv6 : {false, true}) {
    plane_->use_ipv6(ipv6);
    for (const std::size_t bytes : {32, 65, 1472}) {
      std::vector<std::byte> probe(bytes, std::byte{7});
      probe.at(0) = std::byte{INFOLD_PROBE_MAGIC};
      std::vector<std::byte> frame = plane_->frame_of(probe);
      const xdp::TestRun result = run(frame);
      EXPECT_EQ(result.action, kSendBack);
      probe.at(0) = std::byte{INFOLD_ECHO_MAGIC};
      EXPECT_EQ(xdp::read_frame(result.frame), probe);
      const std::vector<std::byte> from(frame.begin() + 6, frame.begin() + 12);
      EXPECT_TRUE(std::equal(from.begin(), from.end(), result.frame.begin()));
      frame.back() ^= std::byte{1};
      expect_dropped(frame, "dropped_checksum");
    }
  }
}

TEST_F(XdpFrames, PacketsAndTheirBytesAreCounted) {
  const infold_xdp_traffic before = plane_->program().traffic();
  std::vector<std::byte> probe(100, std::byte{7});
  probe.at(0) = std::byte{INFOLD_PROBE_MAGIC};
  run(plane_->frame_of(probe));    // goes back
  run(plane_->frame_of(query()));  // is answered: no worker has contributed
  probe.at(0) = std::byte{9};
  run(plane_->frame_of(probe));  // is dropped
  std::vector<std::byte> broken = plane_->frame_of(probe);
  broken.at(24) ^= std::byte{1};  // its IPv4 checksum
  run(broken);
  const infold_xdp_traffic after = plane_->program().traffic();
  EXPECT_EQ(after.received_packets - before.received_packets, 4U);
  EXPECT_EQ(after.received_bytes - before.received_bytes, 100U + INFOLD_HEADER_BYTES + 100);
  EXPECT_EQ(after.sent_packets - before.sent_packets, 2U);
  EXPECT_EQ(after.sent_bytes - before.sent_bytes, 100U + INFOLD_HEADER_BYTES + 4);
}

// If a sender leaves the checksum to its network card, the field has only the sum of the
// pseudo-header.
TEST_F(XdpFrames, AChecksumThatNobodyHasAddedUpIsNamed) {
  for (const bool ipv6 : {false, true}) {
    plane_->use_ipv6(ipv6);
    ASSERT_EQ(plane_->configure({}), "");
    std::vector<std::byte> frame = plane_->frame_of(query());
    const std::size_t at = ipv6 ? 60 : 40;
    const std::size_t first = ipv6 ? 22 : 26;
    std::uint32_t sum = 17 + 8 + INFOLD_HEADER_BYTES;
    for (std::size_t i = first; i < at - 6; i += 2) {
      sum += std::to_integer<std::uint32_t>(frame[i]) << 8 |
             std::to_integer<std::uint32_t>(frame[i + 1]);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame[at] = static_cast<std::byte>(sum >> 8);
    frame[at + 1] = static_cast<std::byte>(sum);
    expect_dropped(frame, "dropped_unsummed");
  }
}

TEST_F(XdpFrames, WrongLengthsAndChecksumsAreDropped) {
  const auto changed = [this](const std::function<void(std::vector<std::byte>&)>& change) {
    std::vector<std::byte> frame = plane_->frame_of(query());
    change(frame);
    return frame;
  };
  expect_dropped(changed([](auto& f) { f.at(22) ^= std::byte{1}; }), "dropped_broken");
  expect_dropped(changed([](auto& f) { f.at(38) = std::byte{1}; }), "dropped_broken");
  expect_dropped(changed([](auto& f) { f.at(39) = std::byte{7}; }), "dropped_broken");
  expect_dropped(changed([](auto& f) { f.resize(f.size() - 1); }), "dropped_broken");
  // IPv4 allows a datagram without a checksum. infold drops it.
  expect_dropped(changed([](auto& f) { f.at(40) = f.at(41) = std::byte{0}; }), "dropped_checksum");
  expect_dropped(changed([](auto& f) { f.at(41) ^= std::byte{1}; }), "dropped_checksum");
  expect_dropped(changed([](auto& f) { f.at(39) = std::byte{8 + 31}; }), "dropped_malformed");
}

TEST_F(XdpFrames, WhatFollowsADatagramInItsFrameIsNoPartOfIt) {
  std::vector<std::byte> frame = plane_->frame_of(query());
  frame.resize(frame.size() + 18, std::byte{0xAA});
  plane_->inject_frame(frame);
  EXPECT_EQ(plane_->verdict(), "answered_pending");
  EXPECT_EQ(plane_->collect().size(), 1U);
}

// the first end that arrives counts, from a packet or from the host.
TEST_F(XdpFrames, TheHostEndsAJobUnlessAPacketHas) {
  xdp::Program& program = plane_->program();
  EXPECT_FALSE(program.end_job(8, {core::AbortReason::lost, 0, 0, {}, {}}).has_value());
  const auto first = program.end_job(7, {core::AbortReason::lost, 3, 2, {}, {}});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(infold_from_be16(first->reason), INFOLD_ABORT_LOST);
  EXPECT_EQ(infold_from_be16(first->rank), 3);
  EXPECT_EQ(infold_from_be16(first->other), 2);
  const auto second = program.end_job(7, {core::AbortReason::stopped, 0, 0, {}, {}});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(std::memcmp(&*first, &*second, sizeof(*first)), 0);

  plane_->inject(query());
  EXPECT_EQ(plane_->verdict(), "answered_ended");
  const std::vector<Outgoing> told = plane_->collect();
  ASSERT_EQ(told.size(), 1U);
  core::Packet packet;
  ASSERT_EQ(core::parse(told[0].datagram, packet), core::Malformed::none);
  EXPECT_EQ(packet.header.kind, core::Kind::aborted);
  EXPECT_EQ(packet.header.flags, 0);  // a root never sets PARTIAL
  EXPECT_EQ(std::memcmp(packet.body.data(), &*first, sizeof(*first)), 0);
}

TEST_F(XdpFrames, APacketThatEndsAJobIsNotOverruledByTheHost) {
  core::Header header;
  header.kind = core::Kind::abort;
  header.job = 7;
  header.epoch = 3;
  std::vector<std::byte> abort(INFOLD_HEADER_BYTES + sizeof(infold_abort));
  core::write_header(header, abort);
  core::write_abort({core::AbortReason::cancelled, 0, 1, {}, {}},
                    abort.data() + INFOLD_HEADER_BYTES);
  plane_->inject(abort);
  ASSERT_EQ(plane_->verdict(), "job_ended");
  const auto kept = plane_->program().end_job(7, {core::AbortReason::stopped, 0, 0, {}, {}});
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(infold_from_be16(kept->reason), INFOLD_ABORT_CANCELLED);
  EXPECT_EQ(infold_from_be16(kept->other), 1);
}

TEST_F(XdpFrames, WorkersArePlacedWhereTheyWereHeard) {
  for (const bool ipv6 : {false, true}) {
    plane_->use_ipv6(ipv6);
    ASSERT_EQ(plane_->configure({}), "");
    plane_->inject(query());
    const std::vector<xdp::Place> places = plane_->program().places(7);
    ASSERT_EQ(places.size(), 2U);
    EXPECT_EQ(places[0].address.text(), ipv6 ? "[fd00::2]:9000" : "10.0.0.2:9000");
    EXPECT_NE(places[0].interface, 0U);
    EXPECT_EQ(places[1].interface, 0U);
    EXPECT_FALSE(places[1].address.is_set());
  }
}

// a packet that fails a check does not change any worker's port, even if it would end the
// job.
TEST_F(XdpFrames, APacketThatIsDroppedMovesNobody) {
  core::Header header;
  header.kind = core::Kind::abort;
  header.job = 7;
  header.epoch = 3;
  std::vector<std::byte> abort(INFOLD_HEADER_BYTES + sizeof(infold_abort));
  core::write_header(header, abort);
  for (const core::Abort& said : {core::Abort{static_cast<core::AbortReason>(7), 0, 0, {}, {}},
                                  core::Abort{core::AbortReason::cancelled, 2, 0, {}, {}},
                                  core::Abort{core::AbortReason::cancelled, 0, 2, {}, {}}}) {
    core::write_abort(said, abort.data() + INFOLD_HEADER_BYTES);
    expect_dropped(plane_->frame_of(abort), "dropped_malformed");
    EXPECT_FALSE(plane_->program().places(7)[0].address.is_set());
  }
}

// This holds as well for a job that takes another job's place in the program's table.
TEST_F(XdpFrames, PacketsAreCountedByJob) {
  xdp::Program& program = plane_->program();
  const std::vector<std::byte> foreign = query_of(100);
  const auto pending = [&program](std::uint16_t job) {
    const auto counters = program.counters_of_job(job);
    return counters ? (*counters)[INFOLD_XDP_ANSWERED_PENDING] : ~0ULL;
  };
  const xdp::Counters before = program.counters();
  plane_->inject(foreign);
  core::AggregatorOptions other;
  other.epoch = 3;
  other.workers = {{0, 1}};
  for (other.job = 100; other.job < 102; ++other.job) {
    plane_->add(other);
    EXPECT_EQ(pending(other.job), 0U);
    for (int i = 0; i < 3; ++i) plane_->inject(query_of(other.job));
    plane_->inject(query());
    EXPECT_EQ(pending(other.job), 3U);
    EXPECT_EQ((*program.counters_of_job(other.job))[INFOLD_XDP_DROPPED_FOREIGN_JOB], 0U);
    program.remove_job(other.job);
    EXPECT_FALSE(program.counters_of_job(other.job).has_value());
  }
  EXPECT_EQ(pending(7), 2U);
  const xdp::Counters now = program.counters();
  EXPECT_EQ(now[INFOLD_XDP_ANSWERED_PENDING] - before[INFOLD_XDP_ANSWERED_PENDING], 8U);
  EXPECT_EQ(now[INFOLD_XDP_DROPPED_FOREIGN_JOB] - before[INFOLD_XDP_DROPPED_FOREIGN_JOB], 1U);
}

TEST_F(XdpFrames, PacketsOfAJobThatIsClosedAreForeign) {
  plane_->program().close_job(7);
  EXPECT_TRUE(xdp::Program::wait_for_packets().has_value());
  expect_dropped(plane_->frame_of(query()), "dropped_foreign_job");
}

TEST_F(XdpFrames, LimitsAreToldWhenAJobIsAdded) {
  xdp::Program& program = plane_->program();
  core::AggregatorOptions job;
  job.workers = {{0, 1}};
  job.slot_count = 60'000;
  auto added = program.add_job(job);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, base::Code::resource_exhausted);
  job.slot_count = 1;
  const std::size_t jobs_max = xdp::ProgramOptions().jobs_max;
  for (job.job = 100; job.job < 100 + jobs_max - 1; ++job.job) {
    EXPECT_TRUE(program.add_job(job).has_value()) << job.job;  // beside the test's own job
  }
  added = program.add_job(job);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, base::Code::resource_exhausted);
  EXPECT_STREQ(added.error().detail, "has no room for another job");
  for (job.job = 100; job.job < 100 + jobs_max - 1; ++job.job) program.remove_job(job.job);
  job.datagram_bytes_max = 9000;
  added = program.add_job(job);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, base::Code::out_of_range);
}

// The verifier sees sizes as constants, so it may refuse a single size. XdpPlane loads the largest
// size.
TEST(XdpProgram, LoadsForEverySize) {
  std::string why_not;
  if (XdpPlane::shared(&why_not) == nullptr) {
    ASSERT_FALSE(why_not.starts_with("refused")) << why_not;
    GTEST_SKIP() << why_not;
  }
  struct Size {
    std::uint32_t datagram_bytes_max;
    std::uint32_t elements_max;
  };
  for (const Size size :
       {Size{64, 64}, Size{1472, 1472}, Size{1472, 384}, Size{64, INFOLD_XDP_ELEMENTS_MAX}}) {
    SCOPED_TRACE(size.datagram_bytes_max);
    std::string log;
    xdp::ProgramOptions options;
    options.addresses = {*io::SocketAddress::parse("10.0.0.1:7700", "test")};
    options.slots_max = 2;
    options.datagram_bytes_max = size.datagram_bytes_max;
    options.elements_max = size.elements_max;
    options.grows = size.elements_max % 128 == 0;
    options.can_rewind = true;
    options.can_fill = true;
    options.log = &log;
    const auto program = xdp::Program::load(options);
    EXPECT_TRUE(program.has_value()) << log.substr(log.size() - std::min(log.size(), 4000UL));
  }
}

}  // namespace
}  // namespace infold::conformance

#endif
