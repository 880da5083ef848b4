// SPDX-License-Identifier: Apache-2.0
//
// The port of whoever sums for a host: its ranks over shared memory, and beyond the host a UDP
// socket. The ranks' peers come first, in the order of the memory's links, then those of UDP.
#pragma once

#include <memory>

#include "io/memory/shared_memory_port.h"
#include "io/udp/udp_port.h"

namespace infold::io {

class HostPort final : public DatagramPort {
 public:
  HostPort(std::unique_ptr<SharedMemoryPort> memory, std::unique_ptr<UdpPort> network)
      : memory_(std::move(memory)), network_(std::move(network)) {}

  void send(Peer to, std::span<const std::byte> datagram) override;
  void flush() override;
  bool is_blocked() const override { return memory_->is_blocked() || network_->is_blocked(); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override { memory_->wake(); }
  std::optional<NarrowPeer> narrow_peer() const override;
  PortCounters counters() const override;

 private:
  std::span<const Received> receive_network();

  std::unique_ptr<SharedMemoryPort> memory_;
  std::unique_ptr<UdpPort> network_;
  bool reads_network_ = false;     // the last turn was the network's
  std::vector<Received> arrived_;  // from the network, under the numbers of this port
};

}  // namespace infold::io
