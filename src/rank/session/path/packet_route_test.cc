// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/packet_route.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "site/switch_shard.h"

namespace infold::rank {
namespace {

using ::testing::HasSubstr;

const io::SocketAddress kHere = *io::SocketAddress::parse_number("127.0.0.1:0", "test");

Result<PacketRoute> choose(const JoinOptions& options) {
  return PacketRoute::choose(options, "host:1", kHere);
}

TEST(PacketRoute, AnMtuThatIsGivenCountsElseThatOfTheRouteUpToALimit) {
  JoinOptions options;
  EXPECT_EQ(choose(options)->datagram_bytes_max, 9216U - 28) << "loopback's own MTU is longer";
  options.mtu_bytes = 1500;
  EXPECT_EQ(choose(options)->datagram_bytes_max, 1472U);
}

TEST(PacketRoute, PacketsLeaveFromTheAddressThatIsGiven) {
  JoinOptions options;
  options.address = "127.0.0.2";
  const Result<PacketRoute> way = choose(options);
  ASSERT_TRUE(way.has_value()) << way.error().message;
  EXPECT_EQ(way->text(), "127.0.0.2") << "the interface is not known by the route";
  EXPECT_EQ(way->udp_options().bind, way->route.local);
  options.address.clear();
  EXPECT_EQ(choose(options)->text(), "127.0.0.1 (lo)");
}

TEST(PacketRoute, AnAddressThatIsNoneIsNamed) {
  JoinOptions options;
  options.address = "nowhere at all";
  const Result<PacketRoute> way = choose(options);
  ASSERT_FALSE(way.has_value());
  EXPECT_EQ(way.error().code, Code::unavailable);
  EXPECT_THAT(way.error().message,
              HasSubstr("JoinOptions.address: 'nowhere at all' is not an address"));
}

// The kernel uses its own route without being told, but uses another route only if the device is
// set.
TEST(PacketRoute, SocketsAreBoundToAnInterfaceThatTheKernelWouldNotTake) {
  PacketRoute way;
  way.route.interface = "eth1";
  EXPECT_EQ(way.udp_options().device, "eth1");
  way.route.is_own = true;
  EXPECT_EQ(way.udp_options().device, "");
}

TEST(PacketRoute, AHostThatIsNoneIsNamed) {
  const auto in_time = base::Instant::never();
  EXPECT_EQ(look_up_host("10.0.0.1:7700", in_time, {})->text(), "10.0.0.1:7700");
  const auto found = look_up_host("10.0.0.1", in_time, {});
  ASSERT_FALSE(found.has_value());
  EXPECT_THAT(found.error().message, HasSubstr("join: 10.0.0.1 "));
}

io::UdpSocket open_socket(std::size_t datagram_bytes_max) {
  io::UdpOptions udp;
  udp.bind = kHere;
  udp.datagram_bytes_max = datagram_bytes_max;
  return std::move(*io::UdpSocket::open(udp));
}

TEST(PacketRoute, ASiteThatFullDatagramsDoNotReachIsNamed) {
  PacketRoute way;
  way.route.local = kHere;
  io::UdpSocket own = open_socket(1472);
  const auto probe = [&](const io::SocketAddress& site, base::Duration limit) {
    return probe_sites(way, own, std::vector{site}, 1472, limit);
  };
  const site::SwitchShard wide(open_socket(1472));
  EXPECT_TRUE(probe(wide.address(), base::seconds(10)).has_value());

  const site::SwitchShard narrow(open_socket(600));
  const Result<void> cut = probe(narrow.address(), base::milliseconds(300));
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().message, HasSubstr("packets of 1500 bytes do not come back from " +
                                             narrow.address().text() + ", smaller ones do"));

  const io::UdpSocket silent = open_socket(1472);
  const Result<void> lost = probe(silent.local_address(), base::milliseconds(50));
  ASSERT_FALSE(lost.has_value());
  EXPECT_THAT(lost.error().message,
              HasSubstr("nothing comes back over UDP from " + silent.local_address().text()));
}

}  // namespace
}  // namespace infold::rank
