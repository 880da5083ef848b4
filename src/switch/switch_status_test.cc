// SPDX-License-Identifier: Apache-2.0
//
// The status of a switch in user space, asked for by a thread that is not the switch's.

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/clock.h"
#include "io/udp/udp_socket.h"

namespace infold::testing {
namespace {

using site::count_index;
using site::PlaneVerdict;
using site::SwitchStatus;

TEST(SwitchStatusTest, PacketsOfNoJobAreToldFromBytesThatAreNone) {
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
  SwitchStatus status = server->status();
  while (status.received.packets < 5 && io::monotonic_now() < end) status = server->status();
  EXPECT_EQ(status.received.packets, 5U);
  EXPECT_EQ(status.packets[count_index(core::Verdict::dropped_foreign_job)], 1U);
  EXPECT_EQ(status.packets[count_index(core::Verdict::dropped_malformed)], 3U);
  EXPECT_EQ(status.packets[count_index(PlaneVerdict::answered_probe)], 1U);
  EXPECT_EQ(status.sent.packets, 1U);
  EXPECT_EQ(status.sent.bytes, 100U);
}

TEST(SwitchStatusTest, IsReadWhileJobsComeAndGo) {
  const auto server = start_switch("127.0.0.1:0", 2);
  std::atomic<bool> is_over{false};
  std::uint64_t completed = 0;
  std::size_t jobs_seen = 0;
  std::thread reader([&] {
    while (!is_over) {
      const SwitchStatus status = server->status();
      EXPECT_GE(status.packets[count_index(core::Verdict::completed)], completed);
      completed = status.packets[count_index(core::Verdict::completed)];
      jobs_seen = std::max(jobs_seen, status.by_job.size());
      for (const site::JobPackets& job : status.by_job) EXPECT_GT(job.memory_bytes, 0U);
    }
  });
  JoinOptions options = options_of(0, 3);
  options.switches = {server->control_address().text()};
  for (int i = 0; i < 3; ++i) run_job(3, options, check_sums);
  is_over = true;
  reader.join();
  const SwitchStatus status = server->status();
  EXPECT_GE(jobs_seen, 1U);
  EXPECT_LE(jobs_seen, 2U);  // threads are asked one by one, and a job may come in between
  EXPECT_TRUE(status.by_job.empty());
  EXPECT_EQ(status.slots_used, 0U);
  EXPECT_EQ(status.memory_bytes, 0U);
  EXPECT_GT(status.packets[count_index(core::Verdict::completed)], 0U);
}

}  // namespace
}  // namespace infold::testing
