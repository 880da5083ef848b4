// SPDX-License-Identifier: Apache-2.0
//
// The MTU of a path shrinks while trains are sent over it.
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/address/own_network_testing.h"
#include "io/udp/udp_endpoint.h"

namespace infold::io {
namespace {

UdpSocket open(const char* address) {
  UdpOptions options;
  options.bind = *SocketAddress::parse(address, "test");
  return std::move(*UdpSocket::open(options));
}

void send_to_a_path_that_shrinks() {
  UdpSocket receiver = open("127.0.0.1:0");
  UdpEndpoint endpoint(open("127.0.0.1:0"), {receiver.local_address()});
  const std::vector<std::byte> datagram(1472);
  const auto send_ten = [&](std::size_t bytes) {
    for (int i = 0; i < 10; ++i) endpoint.send(Neighbour{0}, std::span(datagram).first(bytes));
    endpoint.flush();
    return receiver.receive().size();
  };
  EXPECT_EQ(send_ten(1472), 10U);
  EXPECT_FALSE(endpoint.narrow_neighbour());
  ASSERT_TRUE(set_loopback_mtu(1300));
  EXPECT_EQ(send_ten(1472), 0U);
  ASSERT_TRUE(endpoint.narrow_neighbour());
  EXPECT_EQ(endpoint.narrow_neighbour()->neighbour, Neighbour{0});
  EXPECT_EQ(endpoint.narrow_neighbour()->mtu_bytes, 1300);
  EXPECT_EQ(send_ten(1272), 10U);
}

TEST(NarrowPath, IsToldWithItsMtu) {
  bool entered = false;
  std::thread thread([&entered] {
    entered = enter_own_network(1500);
    if (entered) send_to_a_path_that_shrinks();
  });
  thread.join();
  if (!entered) GTEST_SKIP() << "a network namespace takes root";
}

}  // namespace
}  // namespace infold::io
