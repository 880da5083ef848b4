// SPDX-License-Identifier: Apache-2.0
//
// An endpoint over a UDP socket, for a fixed list of peers with an address each. Drops datagrams
// from other addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "io/endpoint.h"
#include "io/udp/udp_socket.h"

namespace infold::io {

class UdpEndpoint final : public Endpoint {
 public:
  // Peer i is at peers[i].
  UdpEndpoint(UdpSocket socket, std::vector<SocketAddress> peers);

  std::span<std::byte> place() override { return socket_.place(); }
  void send(Peer to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return socket_.sends_trains(); }
  void send_apart(Peer to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override { socket_.flush(); }
  bool is_blocked() const override { return socket_.is_blocked(); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override { socket_.wait(deadline); }
  // As wait(), but also returns when that descriptor is readable.
  void wait_beside(base::Instant deadline, int descriptor) {
    socket_.wait_beside(deadline, descriptor);
  }
  void wake() override { socket_.wake(); }
  std::optional<NarrowPeer> narrow_peer() const override;
  EndpointCounters counters() const override;
  int descriptor() const { return socket_.descriptor(); }

 private:
  UdpSocket socket_;
  std::vector<SocketAddress> peers_;
  std::vector<Received> received_;
  std::uint64_t sent_ = 0;
};

}  // namespace infold::io
