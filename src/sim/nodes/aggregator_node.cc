// SPDX-License-Identifier: Apache-2.0
//
// Gives packets to the aggregator and sends its answers.
#include "sim/nodes/aggregator_node.h"

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
  while (const auto transmit = aggregator_.poll_transmit()) {
    const PacketIndex packet = packets.take();
    std::copy(transmit->datagram.begin(), transmit->datagram.end(), packets.room(packet).begin());
    packets.set_bytes(packet, transmit->datagram.size());
    switch (transmit->to) {
      case core::Aggregator::To::worker: outlet.send(to_workers_[transmit->worker], packet); break;
      case core::Aggregator::To::parent: outlet.send(to_parent_.value(), packet); break;
      case core::Aggregator::To::all_workers:
        packets.retain(packet, static_cast<std::uint32_t>(to_workers_.size()) - 1);
        for (const PathId path : to_workers_) outlet.send(path, packet);
        break;
    }
  }
}

}  // namespace infold::sim
