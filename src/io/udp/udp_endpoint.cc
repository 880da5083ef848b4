// SPDX-License-Identifier: Apache-2.0
//
// All datagrams of a train point to one address, so their peer is looked up once.
#include "io/udp/udp_endpoint.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace infold::io {

UdpEndpoint::UdpEndpoint(UdpSocket socket, std::vector<SocketAddress> peers)
    : socket_(std::move(socket)), peers_(std::move(peers)) {}

void UdpEndpoint::send(Peer to, std::span<const std::byte> datagram) {
  send_apart(to, datagram, {});
}

void UdpEndpoint::send_apart(Peer to, std::span<const std::byte> head,
                             std::span<const std::byte> payload) {
  const auto peer = static_cast<std::size_t>(to);
  CHECK_THAT(peer, <, peers_.size());
  ++sent_;
  socket_.send(std::span(peers_).subspan(peer, 1), head, payload);
}

std::span<const Received> UdpEndpoint::receive() {
  received_.clear();
  const SocketAddress* from = nullptr;
  std::size_t peer = 0;
  for (const UdpSocket::Arrival& arrival : socket_.receive()) {
    if (arrival.from != from) {
      from = arrival.from;
      peer =
          static_cast<std::size_t>(std::find(peers_.begin(), peers_.end(), *from) - peers_.begin());
    }
    if (peer == peers_.size()) continue;
    received_.push_back({Peer{static_cast<std::uint32_t>(peer)}, arrival.datagram});
  }
  return received_;
}

std::optional<NarrowPeer> UdpEndpoint::narrow_peer() const {
  const std::optional<NarrowPath>& path = socket_.narrow_path();
  if (!path) return std::nullopt;
  const auto peer = std::find(peers_.begin(), peers_.end(), path->to) - peers_.begin();
  return NarrowPeer{Peer{static_cast<std::uint32_t>(peer)}, path->mtu_bytes};
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
