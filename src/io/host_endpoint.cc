// SPDX-License-Identifier: Apache-2.0
//
// Memory and network are read first in turn, so neither starves the other.
#include "io/host_endpoint.h"

namespace infold::io {

void HostEndpoint::send(Peer to, std::span<const std::byte> datagram) {
  const auto peer = static_cast<std::size_t>(to);
  if (peer < memory_->peer_count()) {
    memory_->send(to, datagram);
  } else {
    network_->send(Peer{static_cast<std::uint32_t>(peer - memory_->peer_count())}, datagram);
  }
}

void HostEndpoint::flush() {
  memory_->flush();
  network_->flush();
}

std::span<const Received> HostEndpoint::receive() {
  reads_network_ = !reads_network_;
  const std::span<const Received> first = reads_network_ ? receive_network() : memory_->receive();
  if (!first.empty()) return first;
  return reads_network_ ? memory_->receive() : receive_network();
}

std::span<const Received> HostEndpoint::receive_network() {
  arrived_.clear();
  for (const Received& each : network_->receive()) {
    const std::size_t peer = static_cast<std::size_t>(each.from) + memory_->peer_count();
    arrived_.push_back({Peer{static_cast<std::uint32_t>(peer)}, each.datagram});
  }
  return arrived_;
}

void HostEndpoint::wait(base::Instant deadline) {
  pollfd network = {network_->descriptor(), POLLIN, 0};
  if (network_->is_blocked()) network.events |= POLLOUT;
  memory_->wait_beside(deadline, &network);
}

std::optional<NarrowPeer> HostEndpoint::narrow_peer() const {
  std::optional<NarrowPeer> narrow = network_->narrow_peer();
  if (narrow) {
    const std::size_t peer = static_cast<std::size_t>(narrow->peer) + memory_->peer_count();
    narrow->peer = Peer{static_cast<std::uint32_t>(peer)};
  }
  return narrow;
}

EndpointCounters HostEndpoint::counters() const {
  EndpointCounters sum = memory_->counters();
  sum += network_->counters();
  return sum;
}

}  // namespace infold::io
