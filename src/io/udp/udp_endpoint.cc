// SPDX-License-Identifier: Apache-2.0
//
// All datagrams of a received train point to the same address object, so their neighbour is looked
// up once.
#include "io/udp/udp_endpoint.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace infold::io {

UdpEndpoint::UdpEndpoint(UdpSocket socket, std::vector<SocketAddress> neighbours)
    : socket_(std::move(socket)), neighbours_(std::move(neighbours)) {}

void UdpEndpoint::send(Neighbour to, std::span<const std::byte> datagram) {
  send_apart(to, datagram, {});
}

void UdpEndpoint::send_apart(Neighbour to, std::span<const std::byte> head,
                             std::span<const std::byte> payload) {
  const auto neighbour = static_cast<std::size_t>(to);
  CHECK_THAT(neighbour, <, neighbours_.size());
  ++sent_;
  socket_.send(std::span(neighbours_).subspan(neighbour, 1), head, payload);
}

std::span<const Received> UdpEndpoint::receive() {
  received_.clear();
  const SocketAddress* from = nullptr;
  std::size_t neighbour = 0;
  for (const UdpSocket::Arrival& arrival : socket_.receive()) {
    if (arrival.from != from) {
      from = arrival.from;
      neighbour = static_cast<std::size_t>(
          std::find(neighbours_.begin(), neighbours_.end(), *from) - neighbours_.begin());
    }
    if (neighbour == neighbours_.size()) continue;
    received_.push_back({Neighbour{static_cast<std::uint32_t>(neighbour)}, arrival.datagram});
  }
  return received_;
}

std::optional<NarrowNeighbour> UdpEndpoint::narrow_neighbour() const {
  const std::optional<NarrowPath>& path = socket_.narrow_path();
  if (!path) return std::nullopt;
  const auto neighbour =
      std::find(neighbours_.begin(), neighbours_.end(), path->to) - neighbours_.begin();
  return NarrowNeighbour{Neighbour{static_cast<std::uint32_t>(neighbour)}, path->mtu_bytes};
}

EndpointCounters UdpEndpoint::counters() const {
  const UdpCounters socket = socket_.counters();
  EndpointCounters counters;
  counters.sent = sent_;
  counters.overflowed = socket.blocked;
  counters.messages_sent = socket.calls_sent;
  counters.messages_received = socket.calls_received;
  return counters;
}

}  // namespace infold::io
