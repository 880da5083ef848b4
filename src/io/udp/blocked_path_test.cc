// SPDX-License-Identifier: Apache-2.0
//
// A socket that runs into a full kernel queue, because its datagrams wait in the queue of a slow
// interface.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/address/own_network_testing.h"
#include "io/host/clock.h"
#include "io/udp/udp_socket.h"

namespace infold::io {
namespace {

constexpr std::size_t kDatagramBytes = 1400;
constexpr std::size_t kHeadBytes = 32;

UdpSocket open(bool offload, int send_buffer_bytes) {
  UdpOptions options;
  options.bind = *SocketAddress::parse("127.0.0.1:0", "test");
  options.offload = offload;
  options.send_buffer_bytes = send_buffer_bytes;
  options.keeps_blocked = true;
  return std::move(*UdpSocket::open(options));
}

void receive_numbers(UdpSocket& socket, std::vector<std::uint32_t>& numbers) {
  for (const UdpSocket::Arrival& each : socket.receive()) {
    EXPECT_EQ(each.datagram.size(), kDatagramBytes);
    std::memcpy(&numbers.emplace_back(), each.datagram.data(), sizeof(std::uint32_t));
    EXPECT_EQ(each.datagram[kDatagramBytes - 1], static_cast<std::byte>(numbers.back()));
  }
}

constexpr char kSlow[] = "tc qdisc replace dev lo root tbf burst 128kb limit 8mb rate 64kbit";
constexpr char kFast[] = "tc qdisc change dev lo root tbf burst 128kb limit 8mb rate 1gbit";

// Sends to more destinations than there are trains, and keeps sending without checking
// is_blocked().
void send_while_blocked(bool offload) {
  ASSERT_EQ(std::system(kSlow), 0);
  UdpSocket sender = open(offload, 1);  // the kernel raises this to its minimum
  std::vector<UdpSocket> receivers;
  std::vector<SocketAddress> to;
  for (int i = 0; i < 20; ++i) {
    to.push_back(receivers.emplace_back(open(offload, 1 << 20)).local_address());
  }
  std::vector<std::vector<std::uint32_t>> kept(to.size());
  std::uint32_t dropped = 0;
  for (std::uint32_t number = 0; number < 40 * to.size(); ++number) {
    const std::size_t destination = number / 10 % to.size();
    const std::uint64_t before = sender.counters().blocked;
    std::vector<std::byte> elsewhere(kDatagramBytes);
    const std::span<std::byte> place = sender.place();
    const std::span<std::byte> out = place.empty() ? elsewhere : place.first(kDatagramBytes);
    std::fill(out.begin(), out.end(), static_cast<std::byte>(number));
    std::memcpy(out.data(), &number, sizeof(number));
    // Every third datagram has its payload elsewhere, in memory that is freed before the kernel
    // takes the datagram.
    const std::vector<std::byte> payload(out.begin() + kHeadBytes, out.end());
    const bool apart = number % 3 == 0;
    sender.send(std::span(to).subspan(destination, 1), apart ? out.first(kHeadBytes) : out,
                apart ? std::span(payload) : std::span<const std::byte>{});
    if (apart) sender.flush();
    if (sender.counters().blocked == before) {
      kept[destination].push_back(number);
    } else {
      ++dropped;
    }
  }
  sender.flush();
  EXPECT_TRUE(sender.is_blocked());
  EXPECT_GT(dropped, 0U);

  ASSERT_EQ(std::system(kFast), 0);
  // The interface adopts its new rate only when the next datagram comes.
  UdpSocket other = open(offload, 1 << 20);
  const std::vector<SocketAddress> itself = {other.local_address()};
  other.send(itself, std::vector<std::byte>(kDatagramBytes));
  other.flush();
  std::vector<std::vector<std::uint32_t>> received(to.size());
  const base::Instant end = monotonic_now() + base::seconds(20);
  for (; received != kept && monotonic_now() < end; sender.flush()) {
    sender.wait(monotonic_now() + base::milliseconds(1));
    for (std::size_t i = 0; i < to.size(); ++i) receive_numbers(receivers[i], received[i]);
  }
  EXPECT_EQ(received, kept);
  EXPECT_FALSE(sender.is_blocked());
  EXPECT_EQ(sender.counters().blocked, dropped);
}

TEST(BlockedPath, KeepsInItsPlaceWhatTheKernelHasNoRoomFor) {
  bool entered = false;
  std::thread thread([&entered] {
    entered = enter_own_network(1500) && std::system(kSlow) == 0;
    if (!entered) return;
    send_while_blocked(false);
    send_while_blocked(true);
  });
  thread.join();
  if (!entered) GTEST_SKIP() << "a slow interface takes root and tc";
}

}  // namespace
}  // namespace infold::io
