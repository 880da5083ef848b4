// SPDX-License-Identifier: Apache-2.0
//
// Tests datagrams whose payload is sent from where it lies, with and without offloads.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/udp/udp_testing.h"

namespace infold::io {
namespace {

class UdpPayload : public testing::TestWithParam<bool> {
 protected:
  static UdpSocket open(const UdpOptions& base = {}) {
    UdpOptions options = base;
    options.bind = loopback("127.0.0.1:0");
    options.offload = GetParam();
    return std::move(*UdpSocket::open(options));
  }
};

// Mixes datagrams whose payloads stay where they are with datagrams in one piece.
TEST_P(UdpPayload, SendsPayloadsFromWhereTheyAre) {
  UdpSocket a = open();
  UdpSocket b = open();
  UdpSocket c = open();
  const std::vector<SocketAddress> one = {b.local_address()};
  const std::vector<SocketAddress> both = {b.local_address(), c.local_address()};
  Datagrams sent;
  for (std::size_t i = 0; i < 200; ++i) sent.push_back(datagram_of(i % 90 == 89 ? 64 : 1400, i));
  Datagrams at_b;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (i == 150) a.flush();  // so that all arrive in order
    const std::span<const std::byte> whole = sent[i];
    const std::size_t head = i % 3 == 0 ? whole.size() : 32;
    a.send(i < 150 ? one : both, whole.first(head), whole.subspan(head));
    receive_more(b, at_b);
  }
  a.flush();
  EXPECT_EQ(receive(b, sent.size(), at_b), sent);
  EXPECT_EQ(receive(c, 50), Datagrams(sent.begin() + 150, sent.end()));
  EXPECT_EQ(a.counters().bytes_sent, b.counters().bytes_received + c.counters().bytes_received);
  EXPECT_LE(a.counters().calls_sent, a.sends_trains() ? 20U : 250U);
}

// A payload may change once flush() has returned, even if the kernel had no room for it.
TEST_P(UdpPayload, RefersToNoPayloadAfterFlush) {
  UdpOptions options;
  options.send_buffer_bytes = 1;  // the kernel raises this to its minimum
  options.keeps_blocked = true;
  UdpSocket a = open(options);
  UdpSocket b = open();
  const std::vector<SocketAddress> to = {b.local_address()};
  Datagrams sent;
  Datagrams received;
  std::vector<std::byte> tensor;
  for (std::size_t i = 0; i < 500; ++i) {
    sent.push_back(datagram_of(1400, i));
    tensor = sent.back();
    a.send(to, std::span(tensor).first(32), std::span(tensor).subspan(32));
    a.flush();
    std::fill(tensor.begin(), tensor.end(), std::byte{0xEE});
    for (; a.is_blocked(); a.flush()) a.wait(monotonic_now() + base::milliseconds(10));
    receive_more(b, received);
  }
  EXPECT_EQ(receive(b, sent.size(), received), sent);
}

INSTANTIATE_TEST_SUITE_P(Offloads, UdpPayload, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "Trains" : "Plain");
});

}  // namespace
}  // namespace infold::io
