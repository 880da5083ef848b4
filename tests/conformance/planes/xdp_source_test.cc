// SPDX-License-Identifier: Apache-2.0
//
// Tests R-007 in the packet program, in both IP families: from which address it takes each worker's
// packets, and what it tells the host about all others.
#ifdef INFOLD_XDP

#include <gtest/gtest.h>

#include "planes/xdp/program/frame.h"
#include "tests/conformance/planes/xdp_plane.h"

namespace infold::conformance {
namespace {

constexpr std::uint16_t kJob = 9;

io::SocketAddress address(const char* text) { return *io::SocketAddress::parse(text, "test"); }
io::SocketAddress host(const char* text) { return *io::SocketAddress::parse_host(text, "test"); }

// Worker 0 is at an IPv4 address, worker 1 at an IPv6 address, worker 2 anywhere.
class XdpSource : public testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    plane_ = XdpPlane::shared(&why_not);
    if (plane_ == nullptr) GTEST_SKIP() << why_not;
    plane_->remove_all();
    core::AggregatorOptions options;
    options.job = kJob;
    options.epoch = 3;
    options.world = 3;
    options.workers = {{0, 1}, {1, 1}, {2, 1}};
    plane_->add(options, {.workers = {host("::ffff:10.0.0.5"), host("fd00::5")}});
  }
  void TearDown() override {
    if (plane_ != nullptr) plane_->remove_all();
  }

  static std::vector<std::byte> datagram_of(core::Kind kind, std::uint8_t worker) {
    core::Header header;
    header.kind = kind;
    header.worker = worker;
    header.job = kJob;
    header.epoch = 3;
    const bool ends = kind == core::Kind::abort;
    if (!ends) {
      header.round = 1;
      header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
    }
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + (ends ? sizeof(infold_abort) : 0));
    core::write_header(header, datagram);
    if (ends) {
      core::write_abort({core::AbortReason::cancelled, worker, worker, {}, {}},
                        datagram.data() + INFOLD_HEADER_BYTES);
    }
    return datagram;
  }

  std::string verdict_of(const char* from, std::uint8_t worker,
                         core::Kind kind = core::Kind::query) {
    const bool is_ipv6 = from[0] == '[';
    const auto own = address(is_ipv6 ? "[fd00::1]:7700" : "10.0.0.1:7700");
    plane_->inject_frame(xdp::make_frame({address(from), own}, datagram_of(kind, worker)));
    return plane_->verdict();
  }

  std::string place_of(std::size_t worker) {
    const xdp::Place place = plane_->program().places(kJob).at(worker);
    return place.address.is_set() ? place.address.text() : "";
  }

  XdpPlane* plane_ = nullptr;
};

TEST_F(XdpSource, EachWorkersPacketsComeFromItsHostAlone) {
  for (const char* const elsewhere :
       {"10.0.0.6:9000", "[fd00::5]:9000", "[fd00::6]:9000", "[::5]:9000", "[fd00::]:9000"}) {
    EXPECT_EQ(verdict_of(elsewhere, 0), "dropped_wrong_source") << elsewhere;
  }
  for (const char* const elsewhere :
       {"10.0.0.5:9000", "10.0.0.6:9000", "[fd00::6]:9000", "[fd01::5]:9000"}) {
    EXPECT_EQ(verdict_of(elsewhere, 1), "dropped_wrong_source") << elsewhere;
  }
  EXPECT_EQ(place_of(0) + place_of(1), "");
  EXPECT_EQ(verdict_of("10.0.0.5:9000", 0), "answered_pending");
  EXPECT_EQ(verdict_of("[fd00::5]:9000", 1), "answered_pending");
  EXPECT_EQ(verdict_of("10.0.0.6:9000", 2), "answered_pending");
  EXPECT_EQ(verdict_of("[fd00::6]:9000", 2), "answered_pending");
  EXPECT_EQ(verdict_of("[fd00::6]:9000", 3), "dropped_bad_worker");
}

TEST_F(XdpSource, AnswersGoToAnotherPortOfTheHostAndToNoOtherHost) {
  EXPECT_EQ(verdict_of("10.0.0.5:9000", 0), "answered_pending");
  EXPECT_EQ(place_of(0), "10.0.0.5:9000");
  EXPECT_EQ(verdict_of("10.0.0.6:9000", 0), "dropped_wrong_source");
  EXPECT_EQ(place_of(0), "10.0.0.5:9000");
  EXPECT_EQ(verdict_of("10.0.0.5:9001", 0), "answered_pending");
  EXPECT_EQ(place_of(0), "10.0.0.5:9001");
}

TEST_F(XdpSource, NobodyElsewhereEndsTheJob) {
  EXPECT_EQ(verdict_of("10.0.0.6:9000", 0, core::Kind::abort), "dropped_wrong_source");
  EXPECT_EQ(verdict_of("10.0.0.5:9000", 0), "answered_pending");
  EXPECT_EQ(verdict_of("10.0.0.5:9000", 0, core::Kind::abort), "job_ended");
}

TEST_F(XdpSource, TheHostIsToldOfTheLastOne) {
  EXPECT_EQ(verdict_of("10.0.0.6:9000", 0), "dropped_wrong_source");
  auto last = plane_->program().last_wrong_source();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->job, kJob);
  EXPECT_EQ(last->worker, 0);
  EXPECT_EQ(last->address.host_text(), "10.0.0.6");
  EXPECT_EQ(verdict_of("[fd00::6]:9000", 1), "dropped_wrong_source");
  last = plane_->program().last_wrong_source();
  EXPECT_EQ(last->worker, 1);
  EXPECT_EQ(last->address.host_text(), "fd00::6");
}

}  // namespace
}  // namespace infold::conformance

#endif  // INFOLD_XDP
