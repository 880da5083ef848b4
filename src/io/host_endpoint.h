// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a host leader: shared memory to the host's ranks, and a UDP socket to the
// network. The ranks are the first peers, in the order of the memory's links. Those of UDP follow.
#pragma once

#include <memory>

#include "io/memory/shared_memory_endpoint.h"
#include "io/udp/udp_endpoint.h"

namespace infold::io {

class HostEndpoint final : public Endpoint {
 public:
  HostEndpoint(std::unique_ptr<SharedMemoryEndpoint> memory, std::unique_ptr<UdpEndpoint> network)
      : memory_(std::move(memory)), network_(std::move(network)) {}

  void send(Peer to, std::span<const std::byte> datagram) override;
  void flush() override;
  bool is_blocked() const override { return memory_->is_blocked() || network_->is_blocked(); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override { memory_->wake(); }
  std::optional<NarrowPeer> narrow_peer() const override;
  EndpointCounters counters() const override;

 private:
  std::span<const Received> receive_network();

  std::unique_ptr<SharedMemoryEndpoint> memory_;
  std::unique_ptr<UdpEndpoint> network_;
  bool reads_network_ = false;     // the network was read first last time
  std::vector<Received> arrived_;  // from the network, with this endpoint's peers
};

}  // namespace infold::io
