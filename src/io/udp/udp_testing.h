// SPDX-License-Identifier: Apache-2.0
//
// Helps tests to make datagrams and to receive them over loopback.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "io/udp/udp_socket.h"

namespace infold::io {

inline SocketAddress loopback(const char* text) {
  const base::Result<SocketAddress> address = SocketAddress::parse(text, "test");
  EXPECT_TRUE(address.has_value());
  return address.value_or(SocketAddress{});
}

inline std::vector<std::byte> datagram_of(std::size_t bytes, std::size_t number) {
  std::vector<std::byte> datagram(bytes, static_cast<std::byte>(number));
  std::copy_n(reinterpret_cast<const std::byte*>(&number), sizeof(number), datagram.begin());
  return datagram;
}

using Datagrams = std::vector<std::vector<std::byte>>;

inline void receive_more(UdpSocket& socket, Datagrams& datagrams) {
  for (const UdpSocket::Arrival& each : socket.receive()) {
    datagrams.emplace_back(each.datagram.begin(), each.datagram.end());
  }
}

inline Datagrams receive(UdpSocket& socket, std::size_t count, Datagrams datagrams = {}) {
  const base::Instant end = monotonic_now() + base::seconds(10);
  while (datagrams.size() < count && monotonic_now() < end) {
    const std::size_t before = datagrams.size();
    receive_more(socket, datagrams);
    if (datagrams.size() == before) socket.wait(end);
  }
  return datagrams;
}

}  // namespace infold::io
