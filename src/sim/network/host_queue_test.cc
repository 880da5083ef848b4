// SPDX-License-Identifier: Apache-2.0
//
// A host's queue holds what exceeds its share of the link's queue, in order, and drops nothing.
#include "sim/network/host_queue.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "sim/network/network.h"

namespace infold::sim {
namespace {

constexpr std::int64_t kFrameBytes = 1000;
constexpr std::int64_t kHostBytes = 4 * kFrameBytes;

class Sink final : public Node {
 public:
  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override {
    at.push_back(now);
    packets.push_back(parcel.packet);
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

  std::vector<base::Instant> at;
  std::vector<PacketIndex> packets;
};

TEST(HostQueue, KeepsABurstThatTheLinkWouldDrop) {
  constexpr std::uint32_t kPackets = 100;
  // A byte takes a nanosecond. The link's queue has room for eight frames.
  const LinkOptions options = {
      .bits_per_second = 8'000'000'000, .queue_bytes_max = 8 * kFrameBytes, .overhead_bytes = 0};
  Network network({.node_count_max = 4,
                   .packet_count_max = kPackets,
                   .parcel_count_max = kPackets,
                   .packet_bytes_max = kFrameBytes});
  auto link = std::make_unique<Link>(options, NodeId{1});
  const Link& queue_of = *link;
  network.add_node(std::make_unique<HostQueue>(*link, kHostBytes, NodeId{0}));
  network.add_node(std::move(link));
  auto made = std::make_unique<Sink>();
  const Sink& sink = *made;
  network.add_node(std::move(made));
  Path path;
  path.source = 2;
  for (const NodeId node : {NodeId{0}, NodeId{1}, NodeId{2}}) path.append(node);
  const PathId id = network.add_path(path);
  network.start();
  std::vector<PacketIndex> sent;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    sent.push_back(network.packets().take());
    network.packets().set_bytes(sent.back(), kFrameBytes);
    network.send(id, sent.back());
  }
  while (network.step(base::Instant::never())) {
    EXPECT_LE(queue_of.queued_bytes(network.now()), kHostBytes + kFrameBytes);
  }
  EXPECT_EQ(sink.packets, sent);
  for (std::uint32_t i = 0; i < sink.at.size(); ++i) {
    EXPECT_EQ(sink.at[i].ns, kFrameBytes * (i + 1)) << "the link is never idle";
  }
}

}  // namespace
}  // namespace infold::sim
