// SPDX-License-Identifier: Apache-2.0
//
// An endpoint over a UDP socket. It has a fixed list of neighbours, each with one address, and
// drops datagrams from other addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "io/endpoint.h"
#include "io/udp/udp_socket.h"

namespace infold::io {

class UdpEndpoint final : public Endpoint {
 public:
  // Neighbour i is at neighbours[i].
  UdpEndpoint(UdpSocket socket, std::vector<SocketAddress> neighbours);

  std::span<std::byte> place() override { return socket_.place(); }
  void send(Neighbour to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return socket_.sends_trains(); }
  void send_apart(Neighbour to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override { socket_.flush(); }
  bool is_blocked() const override { return socket_.is_blocked(); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override { socket_.wait(deadline); }
  // Like wait(), but also returns when `descriptor` is readable.
  void wait_beside(base::Instant deadline, int descriptor) {
    socket_.wait_beside(deadline, descriptor);
  }
  void wake() override { socket_.wake(); }
  std::optional<NarrowNeighbour> narrow_neighbour() const override;
  EndpointCounters counters() const override;
  int descriptor() const { return socket_.descriptor(); }

 private:
  UdpSocket socket_;
  std::vector<SocketAddress> neighbours_;
  std::vector<Received> received_;
  std::uint64_t sent_ = 0;
};

}  // namespace infold::io
