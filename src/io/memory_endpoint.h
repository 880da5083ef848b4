// SPDX-License-Identifier: Apache-2.0
//
// A network inside the process. Like a socket, each endpoint has one bounded queue for all its
// neighbours, and drops datagrams when the queue is full. A queue allocates its memory when it is
// constructed, but the kernel provides the pages only when they are first written.
//
// Call connect() before any traffic. An endpoint may be connected to itself. Endpoints may be
// destroyed in any order, as long as none of the others is sending.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/endpoint.h"

namespace infold::io {

struct MemoryEndpointOptions {
  std::size_t datagram_bytes_max = 1472;  // longer datagrams are dropped, as by a path's MTU
  std::size_t queue_datagrams = 1024;     // at least 1
};

class MemoryEndpoint final : public Endpoint {
 public:
  explicit MemoryEndpoint(const MemoryEndpointOptions& options);
  ~MemoryEndpoint() override;
  MemoryEndpoint(const MemoryEndpoint&) = delete;
  MemoryEndpoint& operator=(const MemoryEndpoint&) = delete;

  // Connects the two. Returns the second endpoint's number at the first, then the first's number at
  // the second.
  static std::pair<Neighbour, Neighbour> connect(MemoryEndpoint& first, MemoryEndpoint& second);

  void send(Neighbour to, std::span<const std::byte> datagram) override;
  void flush() override {}
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override;
  EndpointCounters counters() const override { return counters_; }

 private:
  class Queue;
  struct Link {
    std::shared_ptr<Queue> queue;  // the neighbour's queue, which may outlive the neighbour
    Neighbour own_number{};        // this endpoint's number at the neighbour
  };

  std::shared_ptr<Queue> queue_;
  std::vector<Link> links_;
  EndpointCounters counters_;
};

}  // namespace infold::io
