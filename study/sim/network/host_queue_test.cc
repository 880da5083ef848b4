// SPDX-License-Identifier: Apache-2.0
//
// A host's queue holds the packets that exceed its share of the link's queue, in order, and drops
// nothing.
#include "study/sim/network/host_queue.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "study/sim/network/network.h"

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

// A byte takes a nanosecond. The link's queue has room for eight frames.
class Line {
 public:
  explicit Line(std::uint32_t packets)
      : network_({.node_count_max = 4,
                  .packet_count_max = packets,
                  .parcel_count_max = packets,
                  .packet_bytes_max = kFrameBytes}) {
    auto link = std::make_unique<Link>(LinkOptions{.bits_per_second = 8'000'000'000,
                                                   .queue_bytes_max = 8 * kFrameBytes,
                                                   .overhead_bytes = 0},
                                       NodeId{1});
    link_ = link.get();
    network_.add_node(std::make_unique<HostQueue>(*link, kHostBytes, NodeId{0}));
    network_.add_node(std::move(link));
    auto sink = std::make_unique<Sink>();
    sink_ = sink.get();
    network_.add_node(std::move(sink));
    network_.start();
  }

  PathId add_path() {
    Path path;
    path.source = 2;
    for (const NodeId node : {NodeId{0}, NodeId{1}, NodeId{2}}) path.append(node);
    return network_.add_path(path);
  }
  PacketIndex send(PathId path) {
    const PacketIndex packet = network_.packets().take();
    network_.packets().set_bytes(packet, kFrameBytes);
    network_.send(path, packet);
    return packet;
  }
  const Sink& run() {
    while (network_.step(base::Instant::never())) {
      EXPECT_LE(link_->queued_bytes(network_.now()), kHostBytes + kFrameBytes);
    }
    return *sink_;
  }

 private:
  Network network_;
  const Link* link_ = nullptr;
  const Sink* sink_ = nullptr;
};

TEST(HostQueue, KeepsABurstThatTheLinkWouldDrop) {
  Line line(100);
  const PathId path = line.add_path();
  std::vector<PacketIndex> sent;
  for (int i = 0; i < 100; ++i) sent.push_back(line.send(path));
  const Sink& sink = line.run();
  EXPECT_EQ(sink.packets, sent);
  for (std::size_t i = 0; i < sink.at.size(); ++i) {
    EXPECT_EQ(sink.at[i].ns, kFrameBytes * static_cast<std::int64_t>(i + 1)) << "it is never idle";
  }
}

TEST(HostQueue, PathsTakeTurns) {
  Line line(40);
  std::vector<std::vector<PacketIndex>> sent(2);
  for (std::vector<PacketIndex>& of_path : sent) {
    const PathId path = line.add_path();
    for (int i = 0; i < 20; ++i) of_path.push_back(line.send(path));
  }
  // Four packets of the first path had gone before the second path had any.
  const std::vector<PacketIndex>&first = sent[0], &second = sent[1];
  std::vector<PacketIndex> expected(first.begin(), first.begin() + 4);
  for (std::size_t i = 0; i < 16; ++i) {
    expected.push_back(second[i]);
    expected.push_back(first[4 + i]);
  }
  expected.insert(expected.end(), second.begin() + 16, second.end());
  EXPECT_EQ(line.run().packets, expected);
}

}  // namespace
}  // namespace infold::sim
