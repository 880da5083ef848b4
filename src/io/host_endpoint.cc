// SPDX-License-Identifier: Apache-2.0
//
// receive() alternates between reading the memory first and the network first, so that neither
// starves the other.
#include "io/host_endpoint.h"

namespace infold::io {

void HostEndpoint::send(Neighbour to, std::span<const std::byte> datagram) {
  const auto neighbour = static_cast<std::size_t>(to);
  if (neighbour < memory_->neighbour_count()) {
    memory_->send(to, datagram);
  } else {
    network_->send(Neighbour{static_cast<std::uint32_t>(neighbour - memory_->neighbour_count())},
                   datagram);
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
    const std::size_t neighbour = static_cast<std::size_t>(each.from) + memory_->neighbour_count();
    arrived_.push_back({Neighbour{static_cast<std::uint32_t>(neighbour)}, each.datagram});
  }
  return arrived_;
}

void HostEndpoint::wait(base::Instant deadline) {
  pollfd network = {network_->descriptor(), POLLIN, 0};
  if (network_->is_blocked()) network.events |= POLLOUT;
  memory_->wait_beside(deadline, &network);
}

std::optional<NarrowNeighbour> HostEndpoint::narrow_neighbour() const {
  std::optional<NarrowNeighbour> narrow = network_->narrow_neighbour();
  if (narrow) {
    const std::size_t neighbour =
        static_cast<std::size_t>(narrow->neighbour) + memory_->neighbour_count();
    narrow->neighbour = Neighbour{static_cast<std::uint32_t>(neighbour)};
  }
  return narrow;
}

EndpointCounters HostEndpoint::counters() const {
  EndpointCounters sum = memory_->counters();
  sum += network_->counters();
  return sum;
}

}  // namespace infold::io
