// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a host leader, which reaches the host's ranks through shared memory and the
// network through a UDP socket. The ranks are its first neighbours, in the order of the memory's
// links. The neighbours of the UDP endpoint follow.
#pragma once

#include <memory>

#include "io/memory/shared_memory_endpoint.h"
#include "io/udp/udp_endpoint.h"

namespace infold::io {

class HostEndpoint final : public Endpoint {
 public:
  HostEndpoint(std::unique_ptr<SharedMemoryEndpoint> memory, std::unique_ptr<UdpEndpoint> network)
      : memory_(std::move(memory)), network_(std::move(network)) {}

  void send(Neighbour to, std::span<const std::byte> datagram) override;
  void flush() override;
  bool is_blocked() const override { return memory_->is_blocked() || network_->is_blocked(); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override { memory_->wake(); }
  std::optional<NarrowNeighbour> narrow_neighbour() const override;
  EndpointCounters counters() const override;

 private:
  std::span<const Received> receive_network();

  std::unique_ptr<SharedMemoryEndpoint> memory_;
  std::unique_ptr<UdpEndpoint> network_;
  bool reads_network_ = false;     // receive() last read the network first
  std::vector<Received> arrived_;  // from the network, with this endpoint's neighbour numbers
};

}  // namespace infold::io
