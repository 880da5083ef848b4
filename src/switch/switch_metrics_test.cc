// SPDX-License-Identifier: Apache-2.0
//
// Tests the metrics of a switch in user space, read by a thread that does not belong to the switch.

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/clock.h"
#include "io/udp/udp_socket.h"

namespace infold::testing {
namespace {

using status::SwitchMetrics;

TEST(SwitchMetricsTest, PacketsOfNoJobAreToldFromBytesThatAreNone) {
  const auto server = start_switch("127.0.0.1:0");
  io::UdpSocket stranger =
      std::move(*io::UdpSocket::open({.bind = *io::SocketAddress::parse("127.0.0.1:0", "test")}));
  const std::vector<io::SocketAddress> to = {
      *io::SocketAddress::parse(server->sites().front().address, "test")};
  core::Header header;
  header.kind = core::Kind::query;
  header.job = 999;
  header.signature = {16, INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32, 0, 16};
  std::vector<std::byte> query(INFOLD_HEADER_BYTES);
  core::write_header(header, query);
  std::vector<std::byte> probe(100);
  probe[0] = std::byte{INFOLD_PROBE_MAGIC};
  const auto send = [&](std::vector<std::byte> datagram) {
    stranger.send(to, datagram);
    stranger.flush();
  };
  send(query);
  send(probe);
  send({query.begin(), query.end() - 1});
  query[0] = std::byte{0};
  send(query);
  send(query);

  const base::Instant end = io::monotonic_now() + base::seconds(10);
  SwitchMetrics metrics = server->metrics();
  while (metrics.received.packets < 5 && io::monotonic_now() < end) metrics = server->metrics();
  EXPECT_EQ(metrics.received.packets, 5U);
  EXPECT_EQ(metrics.packets_of("dropped_foreign_job"), 1U);
  EXPECT_EQ(metrics.packets_of("dropped_malformed"), 3U);
  EXPECT_EQ(metrics.packets_of("answered_probe"), 1U);
  EXPECT_EQ(metrics.sent.packets, 1U);
  EXPECT_EQ(metrics.sent.bytes, 100U);
}

TEST(SwitchMetricsTest, IsReadWhileJobsComeAndGo) {
  const auto server = start_switch("127.0.0.1:0", 2);
  std::atomic<bool> is_over{false};
  std::uint64_t completed = 0;
  bool has_seen_packets = false;
  std::thread reader([&] {
    while (!is_over) {
      const SwitchMetrics metrics = server->metrics();
      EXPECT_GE(metrics.packets_of("completed"), completed);
      completed = metrics.packets_of("completed");
      for (const status::JobMetrics& job : metrics.jobs) {
        if (job.packets.empty()) continue;
        has_seen_packets = true;
        EXPECT_GT(metrics.memory_bytes, 0U);
      }
    }
  });
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  for (int i = 0; i < 3; ++i) run_job(3, options, check_sums);
  is_over = true;
  reader.join();
  const SwitchMetrics metrics = server->metrics();
  EXPECT_TRUE(has_seen_packets);
  EXPECT_TRUE(metrics.jobs.empty());
  EXPECT_EQ(metrics.slots_used, 0U);
  EXPECT_EQ(metrics.memory_bytes, 0U);
  EXPECT_GT(metrics.packets_of("completed"), 0U);
}

}  // namespace
}  // namespace infold::testing
