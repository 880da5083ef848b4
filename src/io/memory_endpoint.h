// SPDX-License-Identifier: Apache-2.0
//
// A network inside the process: endpoints with bounded queues that drop when they are full. Each
// endpoint has one queue for all its peers, as a socket has. Queues take their memory when they are
// made, and the kernel gives it when it is first written to.
//
// connect() is for the time before any traffic. An endpoint may be connected to itself. Endpoints
// may be destroyed in any order, while no other one is sending.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/endpoint.h"

namespace infold::io {

struct MemoryEndpointOptions {
  std::size_t datagram_bytes_max = 1472;  // longer ones are dropped, as beyond an MTU
  std::size_t queue_datagrams = 1024;     // at least 1
};

class MemoryEndpoint final : public Endpoint {
 public:
  explicit MemoryEndpoint(const MemoryEndpointOptions& options);
  ~MemoryEndpoint() override;
  MemoryEndpoint(const MemoryEndpoint&) = delete;
  MemoryEndpoint& operator=(const MemoryEndpoint&) = delete;

  // Joins the two; returns the other's number at each.
  static std::pair<Peer, Peer> connect(MemoryEndpoint& first, MemoryEndpoint& second);

  void send(Peer to, std::span<const std::byte> datagram) override;
  void flush() override {}
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override;
  EndpointCounters counters() const override { return counters_; }

 private:
  class Queue;
  struct Link {
    std::shared_ptr<Queue> queue;  // the peer's, which may have gone
    Peer own_number{};             // this endpoint's, there
  };

  std::shared_ptr<Queue> queue_;
  std::vector<Link> links_;
  EndpointCounters counters_;
};

}  // namespace infold::io
