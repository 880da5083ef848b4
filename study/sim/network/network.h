// SPDX-License-Identifier: Apache-2.0
//
// The virtual network: nodes, the paths between endpoints, and one loop that moves time from event
// to event. It draws nothing at random and does not know the protocol. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "study/sim/network/event_queue.h"
#include "study/sim/network/node.h"
#include "study/sim/network/timer_table.h"

namespace infold::sim {

// The longest path crosses the host queue, link and faults of a portal, the links and faults of two
// racks, the aggregator's own link, and the aggregator.
inline constexpr std::size_t kHopsMax = 9;

struct Path {
  NodeId source = 0;
  std::uint8_t site = 0;  // the job's aggregator that this path leads to or from
  std::uint8_t hop_count = 0;
  std::array<NodeId, kHopsMax> hops{};  // the last one is the destination

  NodeId destination() const { return hops[hop_count - 1U]; }
  void append(NodeId node) {
    CHECK_THAT(hop_count, <, kHopsMax);
    hops[hop_count++] = node;
  }
};

// Sees every packet and changes none. `bytes` are valid only during the call; `hash` is their hash.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
                       std::uint64_t hash) = 0;
  virtual void on_arrival(base::Instant now, const Path& path,
                          std::span<const std::byte> bytes) = 0;
  virtual void on_drop(base::Instant now, const Path& path, std::span<const std::byte> bytes,
                       DropCause cause) = 0;
};

struct NetworkOptions {
  std::uint32_t node_count_max = 0;
  std::uint32_t packet_count_max = 0;  // number of buffers
  std::uint32_t parcel_count_max = 0;  // references to buffers under way
  std::uint32_t packet_bytes_max = 0;
  bool fingerprints = true;  // hash() covers datagrams' bytes, not only times and paths
};

struct NetworkCounters {
  std::uint64_t sent = 0;     // packets that endpoints handed over
  std::uint64_t arrived = 0;  // packets that endpoints took
  std::uint64_t hops = 0;     // packets that nodes of any kind took
  std::uint64_t timeouts = 0;
  std::uint64_t bytes_sent = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropCause::count_)> dropped{};
};

class Network final : public Outlet {
 public:
  explicit Network(const NetworkOptions& options);

  NodeId add_node(std::unique_ptr<Node> node);
  // The node is no longer needed, and its memory is freed. Packets that still come to it are
  // ignored.
  void remove_node(NodeId node);
  PathId add_path(const Path& path);
  void add_observer(Observer* observer) { observers_.push_back(observer); }
  NodeId node_count() const { return static_cast<NodeId>(nodes_.size()); }
  const Path& path(PathId id) const { return paths_[id]; }

  // Reads the timers of all nodes. Call it once after building.
  void start();
  // Handles the next packet or timeout. Returns false if there is no event before `limit`.
  bool step(base::Instant limit);
  // Returns the time of the next packet or timeout, or never() if there is none.
  base::Instant next_event() const;
  // Moves time to `now`, for events that come from outside. Requires: no event is due before `now`.
  void advance(base::Instant now);
  // Call this if the node has something to do that it did not know about when it was last visited.
  void wake(NodeId node) { arm(node); }
  base::Instant now() const { return now_; }
  const NetworkCounters& counters() const { return counters_; }
  // Returns a hash of every datagram sent, with its time and path, as the options say.
  std::uint64_t hash() const { return hash_; }

  PacketPool& packets() override { return packets_; }
  void send(PathId path, PacketIndex packet) override;
  void forward(base::Instant at, NodeId from, Parcel parcel) override;
  void drop(Parcel parcel, DropCause cause) override;

 private:
  void visit(Parcel parcel);
  void time_out(NodeId node);
  void arm(NodeId node);
  void push_ready(Parcel parcel);

  PacketPool packets_;
  EventQueue<Parcel> events_;
  std::vector<std::unique_ptr<Node>> nodes_;
  TimerTable timers_;  // never later than the nodes' own deadlines
  std::vector<Path> paths_;
  std::vector<Observer*> observers_;
  // Hops that take no time skip the event queue. They wait in this ring, in order.
  std::vector<Parcel> ready_;
  std::uint32_t ready_first_ = 0;
  std::uint32_t ready_count_ = 0;
  base::Instant now_;
  NetworkCounters counters_;
  const bool fingerprints_;
  std::uint64_t hash_ = 0;
};

}  // namespace infold::sim
