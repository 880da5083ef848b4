// SPDX-License-Identifier: Apache-2.0
#include "site/switch_shard.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "io/udp/udp_socket.h"

namespace infold::site {
namespace {

io::UdpSocket open_socket() {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse("127.0.0.1:0", "test");
  return std::move(*io::UdpSocket::open(udp));
}

core::AggregatorOptions job_of_one(std::uint16_t job, std::uint32_t epoch) {
  core::AggregatorOptions options;
  options.job = job;
  options.epoch = epoch;
  options.world = 1;
  options.workers = {{0, 1}};
  return options;
}

std::vector<std::byte> question(std::uint16_t job, std::uint32_t epoch) {
  core::Header header;
  header.kind = core::Kind::query;
  header.job = job;
  header.epoch = epoch;
  header.round = 1;
  header.signature.elements = 1;
  header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
  std::vector<std::byte> datagram(INFOLD_HEADER_BYTES);
  core::write_header(header, datagram);
  return datagram;
}

// Sends a packet of this job and epoch, and returns the shard's counters afterwards.
PacketCounts counts_after(SwitchShard& shard, std::uint16_t job, std::uint32_t epoch) {
  const auto sum = [](const PacketCounts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  };
  const std::uint64_t before = sum(shard.statistics().packets);
  io::UdpSocket worker = open_socket();
  const std::vector<io::SocketAddress> to = {shard.address()};
  worker.send(to, question(job, epoch));
  worker.flush();
  PacketCounts counts = {};
  do {
    counts = shard.statistics().packets;
  } while (sum(counts) == before);
  return counts;
}

// Whatever the registry does, the shard refuses a second job with the same number, and the first
// job lives on.
TEST(SwitchShard, ALivingJobKeepsItsNumber) {
  constexpr auto kStale = count_index(core::Verdict::dropped_stale_epoch);
  SwitchShard shard(open_socket());
  ASSERT_TRUE(shard.add_job(job_of_one(7, 9), 1));
  EXPECT_FALSE(shard.add_job(job_of_one(7, 10), 1));
  EXPECT_EQ(counts_after(shard, 7, 9)[kStale], 0U);
  EXPECT_EQ(counts_after(shard, 7, 10)[kStale], 1U);
  shard.remove_job(7);
  EXPECT_TRUE(shard.add_job(job_of_one(7, 10), 1));
  EXPECT_EQ(counts_after(shard, 7, 10)[kStale], 1U) << "none more";
}

}  // namespace
}  // namespace infold::site
