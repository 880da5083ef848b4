// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/own_site.h"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "join/job_plan.h"

namespace infold::rank {
namespace {

join::JobTerms terms_of_one_rank() {
  join::JobTerms terms;
  terms.job = 3;
  terms.epoch = 7;
  terms.world = 1;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = 8192;
  terms.small_slots = 4;
  terms.bulk_slots = 4;
  return terms;
}

io::UdpOptions on_loopback() {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse_number("127.0.0.1:0", "test");
  return udp;
}

TEST(OwnSite, OtherRanksKnowItByItsAddressAndWeight) {
  const auto site = OwnSite::open(on_loopback());
  ASSERT_TRUE(site.has_value());
  const join::SiteAddress known = (*site)->site_address(3);
  EXPECT_EQ(known.address, (*site)->address().text());
  EXPECT_NE((*site)->address().port(), 0);
  EXPECT_EQ(known.weight, 3U);
  EXPECT_TRUE(known.at_rank);
}

// The rank's endpoint carries its contributions to the aggregator and the results back.
TEST(OwnSite, ServesOneJobAndThenBecomesAPartOfTheRanksEndpoint) {
  auto site = OwnSite::open(on_loopback());
  ASSERT_TRUE(site.has_value());
  const join::JobTerms terms = terms_of_one_rank();
  (*site)->serve(terms);
  (*site)->serve(terms);
  const io::SocketAddress address = (*site)->address();
  auto network = std::make_unique<io::UdpEndpoint>(std::move(*io::UdpSocket::open(on_loopback())),
                                                   std::vector{address});
  const auto endpoint =
      (*site)->take_endpoint(join::plan_of(terms), std::uint8_t{0}, 0, std::move(network));
  core::Header header;
  header.kind = core::Kind::skip;
  header.job = terms.job;
  header.epoch = terms.epoch;
  header.round = 1;
  header.signature.operation = static_cast<std::uint8_t>(core::Collective::barrier) << 4;
  const std::span<std::byte> datagram = endpoint->place().first(INFOLD_HEADER_BYTES);
  core::write_header(header, datagram);
  endpoint->send(io::Neighbour{0}, datagram);
  endpoint->flush();
  const auto answers = endpoint->receive();
  ASSERT_EQ(answers.size(), 1U);
  core::Packet packet;
  ASSERT_EQ(core::parse(answers.front().datagram, packet), core::Malformed::none);
  EXPECT_EQ(packet.header.kind, core::Kind::result);
}

TEST(OwnSite, AnAddressThatIsNotThisHostsIsAnError) {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse_number("192.0.2.1:0", "test");
  EXPECT_FALSE(OwnSite::open(udp).has_value());
}

}  // namespace
}  // namespace infold::rank
