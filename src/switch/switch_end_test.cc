// SPDX-License-Identifier: Apache-2.0
//
// Which end a switch in user space tells the workers of a job, and the join server.
#include <array>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/clock.h"
#include "io/udp/udp_socket.h"

namespace infold::testing {
namespace {

using core::AbortReason;

constexpr std::uint16_t kJob = 7;
constexpr std::uint32_t kEpoch = 3;

// A rank that sends packets by hand.
class Rank {
 public:
  explicit Rank(std::uint8_t rank) : rank_(rank) {}

  // Contributes one integer to a sum of that many elements in all.
  void add(const io::SocketAddress& to, std::uint32_t shape) {
    core::Header header;
    header.kind = core::Kind::add;
    header.worker = rank_;
    header.job = kJob;
    header.epoch = kEpoch;
    header.round = 1;
    header.signature.elements = 1;
    header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
    header.signature.shape = shape;
    header.contributors = {1, 1, core::rank_digest(rank_)};
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + sizeof(std::int32_t));
    core::write_header(header, datagram);
    const std::array<io::SocketAddress, 1> only = {to};
    socket_.send(only, datagram);
    socket_.flush();
  }

  // Waits for a packet, and returns the end that it carries.
  std::optional<core::Abort> hear() {
    const base::Instant latest = io::monotonic_now() + base::seconds(10);
    while (io::monotonic_now() < latest) {
      for (const io::UdpSocket::Arrival& arrival : socket_.receive()) {
        core::Packet packet;
        EXPECT_EQ(core::parse(arrival.datagram, packet), core::Malformed::none);
        return core::read_abort(packet.body);
      }
      socket_.wait(latest);
    }
    return std::nullopt;
  }

 private:
  std::uint8_t rank_;
  io::UdpSocket socket_ =
      std::move(*io::UdpSocket::open({.bind = *io::SocketAddress::parse("127.0.0.1:0", "test")}));
};

join::JobTerms terms_of(const switches::SwitchServer& server) {
  join::JobTerms terms;
  terms.job = kJob;
  terms.epoch = kEpoch;
  terms.world = 3;
  terms.datagram_bytes_max = 1472;
  terms.elements_max = 256;
  terms.small_slots = 1;
  terms.bulk_slots = 1;
  terms.sites = server.sites();
  return terms;
}

// Ranks 0 and 1 make different calls at the first shard. Then rank 1 is lost. The second shard does
// not know why, and rank 2 has contributed only there.
TEST(SwitchEnd, AMismatchAtOneShardIsTheEndAtAll) {
  const auto server = start_switch("127.0.0.1:0", 2);
  ASSERT_TRUE(server->start_job(terms_of(*server)).has_value());
  std::vector<io::SocketAddress> shards;
  for (const join::SiteAddress& site : server->sites()) {
    shards.push_back(*io::SocketAddress::parse(site.address, "test"));
  }
  Rank ranks[] = {Rank(0), Rank(1), Rank(2)};
  ranks[2].add(shards[1], 10);
  while (server->metrics().packets_of("contributed") < 1) {
  }
  ranks[0].add(shards[0], 10);
  while (server->metrics().packets_of("contributed") < 2) {
  }
  ranks[1].add(shards[0], 11);
  const std::optional<core::Abort> heard = ranks[1].hear();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->reason, AbortReason::mismatch);

  const auto kept = server->end_job(kJob, {AbortReason::lost, 1, 1, {}, {}});
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->reason, AbortReason::mismatch);
  EXPECT_EQ(kept->rank_signature.shape, 11U);
  EXPECT_EQ(kept->other_signature.shape, 10U);
  const std::optional<core::Abort> told = ranks[2].hear();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->reason, AbortReason::mismatch);
  server->forget_job(kJob);
}

}  // namespace
}  // namespace infold::testing
