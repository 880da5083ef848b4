// SPDX-License-Identifier: Apache-2.0
//
// Gives packets to the aggregator and sends its answers.
#include "study/sim/nodes/aggregator_node.h"

#include <algorithm>

namespace infold::sim {

void AggregatorNode::handle_packet(base::Instant, Parcel parcel, Outlet& outlet) {
  PacketPool& packets = outlet.packets();
  aggregator_.handle_datagram(packets.bytes(parcel.packet));
  packets.release(parcel.packet);
  transmit(outlet);
}

void AggregatorNode::end(const core::Abort& abort, Outlet& outlet) {
  aggregator_.end(abort);
  transmit(outlet);
}

void AggregatorNode::transmit(Outlet& outlet) {
  PacketPool& packets = outlet.packets();
  const auto packet_of = [&packets](std::span<const std::byte> datagram) {
    const PacketIndex packet = packets.take();
    std::copy(datagram.begin(), datagram.end(), packets.room(packet).begin());
    packets.set_bytes(packet, datagram.size());
    return packet;
  };
  while (const auto transmit = aggregator_.poll_transmit()) {
    const PacketIndex packet = packet_of(transmit->datagram);
    switch (transmit->to) {
      case core::Aggregator::To::worker: outlet.send(to_workers_[transmit->worker], packet); break;
      case core::Aggregator::To::parent: outlet.send(to_parent_.value(), packet); break;
      case core::Aggregator::To::all_workers:
        packets.retain(packet, static_cast<std::uint32_t>(to_workers_.size()));
        for (std::size_t i = 0; i < to_workers_.size(); ++i) {
          const bool is_brief = transmit->brief_for && *transmit->brief_for == i;
          outlet.send(to_workers_[i], is_brief ? packet_of(transmit->datagram_for(i)) : packet);
          if (is_brief) packets.release(packet);
        }
        packets.release(packet);
        break;
    }
  }
}

}  // namespace infold::sim
