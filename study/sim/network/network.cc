// SPDX-License-Identifier: Apache-2.0
//
// The event loop of the virtual network.
#include "study/sim/network/network.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/prng.h"
#include "study/sim/network/checksum.h"

namespace infold::sim {
namespace {

// Takes the place of a node that was removed.
class Gone final : public Node {
 public:
  void handle_packet(base::Instant, Parcel parcel, Outlet& outlet) override {
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }
};

}  // namespace

const char* drop_cause_name(DropCause cause) {
  switch (cause) {
    case DropCause::loss: return "loss";
    case DropCause::burst: return "burst loss";
    case DropCause::queue: return "queue full";
    case DropCause::receive_queue: return "receiver paused";
    case DropCause::checksum: return "bad checksum";
    case DropCause::count_: break;
  }
  return "unknown";
}

Network::Network(const NetworkOptions& options)
    : packets_(options.packet_count_max, options.packet_bytes_max),
      events_(options.parcel_count_max, options.node_count_max),
      timers_(options.node_count_max),
      fingerprints_(options.fingerprints) {
  CHECK_THAT(options.node_count_max, <=, kNodesMax);
  nodes_.reserve(options.node_count_max);
  ready_.resize(std::bit_ceil(options.parcel_count_max));
}

NodeId Network::add_node(std::unique_ptr<Node> node) {
  CHECK_THAT(nodes_.size(), <, nodes_.capacity());
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

void Network::remove_node(NodeId node) {
  nodes_[node] = std::make_unique<Gone>();
  timers_.set(node, base::Instant::never());
}

PathId Network::add_path(const Path& path) {
  CHECK_THAT(paths_.size(), <, kPathsMax);
  CHECK_THAT(path.hop_count, >, 0);
  paths_.push_back(path);
  return static_cast<PathId>(paths_.size() - 1);
}

void Network::start() {
  for (NodeId node = 0; node < nodes_.size(); ++node) arm(node);
}

bool Network::step(base::Instant limit) {
  if (ready_count_ > 0) {
    const Parcel parcel = ready_[ready_first_];
    ready_first_ = (ready_first_ + 1) & (static_cast<std::uint32_t>(ready_.size()) - 1);
    --ready_count_;
    visit(parcel);
    return true;
  }
  const base::Instant timer = timers_.earliest();
  const base::Instant packet = events_.empty() ? base::Instant::never() : events_.next_at();
  const base::Instant next = std::min(packet, timer);
  if (next == base::Instant::never() || next > limit) return false;
  CHECK_THAT(next.ns, >=, now_.ns);
  now_ = next;
  if (packet <= timer) {
    visit(events_.pop());
  } else {
    time_out(static_cast<NodeId>(timers_.earliest_node()));
  }
  return true;
}

base::Instant Network::next_event() const {
  if (ready_count_ > 0) return now_;
  const base::Instant packet = events_.empty() ? base::Instant::never() : events_.next_at();
  return std::min(packet, timers_.earliest());
}

void Network::advance(base::Instant now) {
  CHECK_THAT(now.ns, <=, next_event().ns);
  now_ = std::max(now_, now);
}

void Network::visit(Parcel parcel) {
  const Path& path = paths_[parcel.path];
  ++counters_.hops;
  if (parcel.hop + 1 == path.hop_count) {
    const auto bytes = packets_.bytes(parcel.packet);
    if (packets_.damaged(parcel.packet) &&
        udp_checksum(bytes) != packets_.checksum_sent(parcel.packet)) {
      drop(parcel, DropCause::checksum);
      return;
    }
    ++counters_.arrived;
    for (Observer* observer : observers_) observer->on_arrival(now_, path, bytes);
  }
  const NodeId node = path.hops[parcel.hop];
  nodes_[node]->handle_packet(now_, parcel, *this);
  arm(node);
}

void Network::time_out(NodeId node) {
  if (nodes_[node]->next_timeout() <= now_) {
    ++counters_.timeouts;
    nodes_[node]->handle_timeout(now_, *this);
  }
  timers_.set(node, base::Instant::never());
  arm(node);
}

// A deadline that moves to a later time is not updated. The timer fires early, finds nothing due
// and is set again. A timer thus costs time only when it fires and not at every packet.
void Network::arm(NodeId node) {
  const base::Instant due = nodes_[node]->next_timeout();
  if (due < timers_.at(node)) timers_.set(node, due > now_ ? due : now_);
}

void Network::send(PathId path, PacketIndex packet) {
  const auto bytes = packets_.bytes(packet);
  ++counters_.sent;
  counters_.bytes_sent += bytes.size();
  const bool is_hashed = fingerprints_ || !observers_.empty();
  const std::uint64_t hash = is_hashed ? packets_.hash(packet) : 0;
  hash_ =
      base::mix64(hash_ ^ hash ^ static_cast<std::uint64_t>(now_.ns) ^ (std::uint64_t{path} << 48));
  for (Observer* observer : observers_) observer->on_send(now_, paths_[path], bytes, hash);
  push_ready({.packet = packet, .path = path, .hop = 0});
}

void Network::push_ready(Parcel parcel) {
  const std::uint32_t mask = static_cast<std::uint32_t>(ready_.size()) - 1;
  if (ready_count_ > mask) {
    packets_.note_shortage();
    packets_.release(parcel.packet);
    return;
  }
  ready_[(ready_first_ + ready_count_++) & mask] = parcel;
}

void Network::forward(base::Instant at, NodeId from, Parcel parcel) {
  ++parcel.hop;
  if (at <= now_) {
    push_ready(parcel);
    return;
  }
  if (events_.full()) {
    packets_.note_shortage();
    packets_.release(parcel.packet);
    return;
  }
  events_.push(from, at, parcel);
}

void Network::drop(Parcel parcel, DropCause cause) {
  ++counters_.dropped[static_cast<std::size_t>(cause)];
  const auto bytes = packets_.bytes(parcel.packet);
  for (Observer* observer : observers_) {
    observer->on_drop(now_, paths_[parcel.path], bytes, cause);
  }
  packets_.release(parcel.packet);
}

}  // namespace infold::sim
