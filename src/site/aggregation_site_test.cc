// SPDX-License-Identifier: Apache-2.0
//
// Tests which sources an aggregator with a socket accepts, and where its answers go.
#include "site/aggregation_site.h"

#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"

namespace infold::site {
namespace {

io::UdpSocket open_socket(const char* at = "127.0.0.1:0") {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse(at, "test");
  return std::move(*io::UdpSocket::open(udp));
}

class Site : public ::testing::Test {
 protected:
  explicit Site(const std::vector<io::SocketAddress>& sources = {}) : site_(open_socket()) {
    core::AggregatorOptions options;
    options.job = 7;
    options.epoch = 9;
    options.world = 4;
    options.workers = {{0, 1}, {1, 1}};
    options.parent_worker = 0;
    auto job = std::make_unique<AggregationSite::Job>(options, 1,
                                                      Neighbours{parent_.local_address(), sources});
    site_.swap_job(7, job);
  }

  static std::vector<std::byte> packet(core::Kind kind) {
    core::Header header;
    header.kind = kind;
    header.job = 7;
    header.epoch = 9;
    header.round = 1;
    header.signature.elements = 1;
    header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
    if (kind == core::Kind::result) header.contributors = core::contributors_of({0, 4});
    const bool has_body = kind == core::Kind::result;
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + (has_body ? sizeof(std::int32_t) : 0));
    core::write_header(header, datagram);
    return datagram;
  }

  static std::vector<std::byte> abort_of(core::AbortReason reason) {
    core::Header header;
    header.kind = core::Kind::abort;
    header.job = 7;
    header.epoch = 9;
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + sizeof(infold_abort));
    core::write_header(header, datagram);
    core::write_abort({reason, 0, 0, {}, {}}, datagram.data() + INFOLD_HEADER_BYTES);
    return datagram;
  }

  // Sends the datagram and returns the site's verdict on it.
  core::Verdict send(io::UdpSocket& from, const std::vector<std::byte>& datagram) {
    const PacketCounts before = site_.statistics().packets;
    const std::vector<io::SocketAddress> to = {site_.address()};
    from.send(to, datagram);
    from.flush();
    while (site_.serve() == 0) site_.wait(base::Instant::never());
    const PacketCounts after = site_.statistics().packets;
    for (std::size_t i = 0; i < count_index(core::Verdict::count_); ++i) {
      if (after[i] != before[i]) return static_cast<core::Verdict>(i);
    }
    return core::Verdict::count_;
  }

  // Whether the next datagram arrives at `expected` and none arrives at `other`.
  static bool comes_to(io::UdpSocket& expected, io::UdpSocket& other) {
    while (expected.receive().empty()) expected.wait(io::monotonic_now() + base::milliseconds(10));
    return other.receive().empty();
  }

  io::UdpSocket parent_ = open_socket();
  io::UdpSocket worker_ = open_socket();
  io::UdpSocket stranger_ = open_socket();
  AggregationSite site_;
};

TEST_F(Site, TakesAnswersFromItsParentAlone) {
  EXPECT_EQ(send(stranger_, packet(core::Kind::result)), core::Verdict::dropped_wrong_way);
  EXPECT_EQ(send(stranger_, packet(core::Kind::aborted)), core::Verdict::dropped_malformed);
  EXPECT_EQ(send(parent_, packet(core::Kind::result)), core::Verdict::dropped_early_round);
}

TEST_F(Site, AnswersWhereAWorkersLatestPacketCameFrom) {
  EXPECT_EQ(send(worker_, packet(core::Kind::query)), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(worker_, stranger_));
  EXPECT_EQ(send(stranger_, packet(core::Kind::query)), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(stranger_, worker_));
}

// The join connections vouch for worker 0 at 127.0.0.1 and for worker 1 at 127.0.0.2.
class VouchedSite : public Site {
 protected:
  VouchedSite()
      : Site({*io::SocketAddress::parse_host("127.0.0.1", "test"),
              *io::SocketAddress::parse_host("127.0.0.2", "test")}) {}

  io::UdpSocket elsewhere_ = open_socket("127.0.0.3:0");
};

TEST_F(VouchedSite, TakesAWorkersPacketsFromItsHostAlone) {
  const auto query = packet(core::Kind::query);
  EXPECT_EQ(send(elsewhere_, query), core::Verdict::dropped_wrong_source);
  EXPECT_EQ(send(worker_, query), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(worker_, elsewhere_));
  EXPECT_EQ(send(elsewhere_, query), core::Verdict::dropped_wrong_source);
  const auto left = abort_of(core::AbortReason::left);
  EXPECT_EQ(send(elsewhere_, left), core::Verdict::dropped_wrong_source);
  site_.end_job(7, {core::AbortReason::cancelled, 0, 0, {}, {}});
  EXPECT_TRUE(comes_to(worker_, elsewhere_));
}

TEST_F(VouchedSite, AnswersAnotherPortOfTheWorkersHost) {
  EXPECT_EQ(send(worker_, packet(core::Kind::query)), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(worker_, stranger_));
  EXPECT_EQ(send(stranger_, packet(core::Kind::query)), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(stranger_, worker_));
}

TEST_F(VouchedSite, TakesNothingFromASocketInTheNameOfItsOwnWorker) {
  site_.adopt(7, 0);
  EXPECT_EQ(send(worker_, packet(core::Kind::query)), core::Verdict::dropped_wrong_source);
  site_.handle_own(packet(core::Kind::query));
  EXPECT_EQ(site_.take_answers().size(), 1U);
}

TEST_F(Site, APacketThatFailsACheckMovesNoAnswers) {
  EXPECT_EQ(send(worker_, packet(core::Kind::query)), core::Verdict::answered_pending);
  EXPECT_TRUE(comes_to(worker_, stranger_));
  const auto unknown = static_cast<core::AbortReason>(7);
  EXPECT_EQ(send(stranger_, abort_of(unknown)), core::Verdict::dropped_malformed);
  site_.end_job(7, {core::AbortReason::cancelled, 0, 0, {}, {}});
  EXPECT_TRUE(comes_to(worker_, stranger_));
}

}  // namespace
}  // namespace infold::site
