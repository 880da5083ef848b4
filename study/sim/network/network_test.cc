// SPDX-License-Identifier: Apache-2.0
//
// Tests links and faults between two endpoints that only send and listen.
#include "study/sim/network/network.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "study/sim/network/faults.h"
#include "study/sim/network/link.h"

namespace infold::sim {
namespace {

constexpr std::uint32_t kPayload = 1000;
constexpr std::int64_t kFrameBits = 8 * (kPayload + kFrameOverheadBytes);

class Listener final : public Node {
 public:
  struct Arrival {
    base::Instant at;
    std::uint8_t number;
  };
  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override {
    arrivals.push_back(
        {now, std::to_integer<std::uint8_t>(outlet.packets().bytes(parcel.packet).front())});
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

  std::vector<Arrival> arrivals;
};

// A path to one listener, with a link or faults before it.
class Line {
 public:
  Line()
      : network_({.node_count_max = 4,
                  .packet_count_max = 4096,
                  .parcel_count_max = 4096,
                  .packet_bytes_max = kPayload}) {
    auto listener = std::make_unique<Listener>();
    listener_ = listener.get();
    end_ = network_.add_node(std::move(listener));
  }

  template <typename T, typename... Args>
  T* add(Args&&... args) {
    auto node = std::make_unique<T>(std::forward<Args>(args)..., network_.node_count());
    T* const added = node.get();
    path_.append(network_.add_node(std::move(node)));
    return added;
  }

  void start() {
    path_.append(end_);
    id_ = network_.add_path(path_);
    network_.start();
  }

  void send(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const PacketIndex packet = network_.packets().take();
      std::fill_n(network_.packets().room(packet).begin(), kPayload, static_cast<std::byte>(i));
      network_.packets().set_bytes(packet, kPayload);
      network_.send(id_, packet);
    }
    while (network_.step(base::Instant::never())) {
    }
  }

  const std::vector<Listener::Arrival>& arrivals() const { return listener_->arrivals; }
  std::uint64_t dropped(DropCause cause) const {
    return network_.counters().dropped[static_cast<std::size_t>(cause)];
  }
  Network& network() { return network_; }

 private:
  Network network_;
  Listener* listener_ = nullptr;
  NodeId end_ = 0;
  Path path_;
  PathId id_ = 0;
};

TEST(Link, TakesTimeForEachBitAndForPropagation) {
  Line line;
  line.add<Link>(LinkOptions{.bits_per_second = 1'000'000'000,
                             .delay = base::microseconds(5),
                             .queue_bytes_max = 100'000});
  line.start();
  line.send(3);
  ASSERT_EQ(line.arrivals().size(), 3U);
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto& arrival = line.arrivals()[static_cast<std::size_t>(i)];
    EXPECT_EQ(arrival.at.ns, 5'000 + (i + 1) * kFrameBits);
    EXPECT_EQ(arrival.number, i);
  }
}

TEST(Link, DropsWhatItsQueueCannotHold) {
  Line line;
  const Link* link = line.add<Link>(LinkOptions{
      .bits_per_second = 1'000'000'000, .delay = {}, .queue_bytes_max = 2 * kFrameBits / 8});
  line.start();
  line.send(5);
  EXPECT_EQ(line.arrivals().size(), 2U);
  EXPECT_EQ(line.dropped(DropCause::queue), 3U);
  EXPECT_EQ(link->queued_bytes_high_water(), 2 * kFrameBits / 8);
  EXPECT_EQ(line.network().packets().in_use(), 0U);
}

TEST(Faults, LoseTheGivenShareOfPackets) {
  Line line;
  line.add<Faults>(FaultOptions{.loss = 0.3, .reorder_max = {}, .jitter_max = {}}, 11U);
  line.start();
  line.send(4000);
  EXPECT_NEAR(static_cast<double>(line.dropped(DropCause::loss)), 1200, 100);
  EXPECT_EQ(line.arrivals().size() + line.dropped(DropCause::loss), 4000U);
}

TEST(Faults, DamageIsAlwaysFoundByTheChecksum) {
  Line line;
  line.add<Faults>(FaultOptions{.corrupt = 1, .reorder_max = {}, .jitter_max = {}}, 12U);
  line.start();
  line.send(2000);
  EXPECT_EQ(line.arrivals().size(), 0U);
  EXPECT_EQ(line.dropped(DropCause::checksum), 2000U);
}

TEST(Faults, DamageOfOneCopyLeavesTheOtherAlone) {
  Line line;
  line.add<Faults>(FaultOptions{.duplicate = 1, .corrupt = 1, .reorder_max = {}, .jitter_max = {}},
                   13U);
  line.start();
  line.send(100);
  EXPECT_EQ(line.arrivals().size(), 100U);
  EXPECT_EQ(line.dropped(DropCause::checksum), 100U);
  EXPECT_EQ(line.network().packets().in_use(), 0U);
}

TEST(Faults, JitterKeepsTheOrderAndReorderingDoesNot) {
  for (const double reorder : {0.0, 0.5}) {
    Line line;
    line.add<Link>(
        LinkOptions{.bits_per_second = 1'000'000'000, .delay = {}, .queue_bytes_max = 1'000'000});
    line.add<Faults>(FaultOptions{.reorder = reorder,
                                  .reorder_max = base::microseconds(50),
                                  .jitter_max = base::microseconds(20)},
                     14U);
    line.start();
    line.send(200);
    const auto earlier = [](const auto& a, const auto& b) { return a.number < b.number; };
    EXPECT_EQ(std::is_sorted(line.arrivals().begin(), line.arrivals().end(), earlier),
              reorder == 0.0);
  }
}

TEST(Faults, StopAtTheGivenTime) {
  Line line;
  line.add<Link>(LinkOptions{.bits_per_second = 1'000'000'000,
                             .delay = base::microseconds(100),
                             .queue_bytes_max = 1'000'000});
  line.add<Faults>(FaultOptions{.loss = 1,
                                .reorder_max = {},
                                .jitter_max = {},
                                .until = base::Instant{} + base::microseconds(50)},
                   15U);
  line.start();
  line.send(10);
  EXPECT_EQ(line.arrivals().size(), 10U);
}

}  // namespace
}  // namespace infold::sim
