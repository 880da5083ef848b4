// SPDX-License-Identifier: Apache-2.0
//
// A network inside the process. Each endpoint has one bounded queue for all its peers, as a socket
// has, and drops datagrams when the queue is full. A queue allocates its memory at its
// construction. The kernel provides pages at the first write.
//
// Call connect() before any traffic. An endpoint may be connected to itself. Endpoints may be
// destroyed in any order while no other endpoint sends.
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

  // Connects the two. Returns the number of the second at the first, and the reverse.
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
    std::shared_ptr<Queue> queue;  // the peer's; the peer may be destroyed
    Peer own_number{};             // of this endpoint at the peer
  };

  std::shared_ptr<Queue> queue_;
  std::vector<Link> links_;
  EndpointCounters counters_;
};

}  // namespace infold::io
