// SPDX-License-Identifier: Apache-2.0
//
// An endpoint without a network. Every contribution comes back at once as the result of a job of
// one rank, because a sum of one is the contribution itself. So a rank's own work can be measured
// alone. The packets lie in a ring that stays in the cache.
//
// Threads as for all endpoints. Requires: fewer packets in flight than `datagrams`.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "io/endpoint.h"

namespace infold::lab {

class EchoEndpoint final : public io::Endpoint {
 public:
  EchoEndpoint(std::size_t datagram_bytes_max, std::size_t datagrams);

  std::span<std::byte> place() override;
  // Requires: the datagram is in place(), except for the message with which a rank leaves.
  void send(io::Peer to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return true; }
  // The result has the header and as many bytes of the ring, because copying is the kernel's part.
  // Requires: the head is in place().
  void send_apart(io::Peer to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  std::span<const io::Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override;
  io::EndpointCounters counters() const override { return counters_; }

 private:
  // Of senders, who take turns.
  std::size_t datagram_bytes_max_;
  std::vector<std::byte> ring_;
  std::size_t next_ = 0;
  std::vector<io::Received> sent_;  // since the last flush
  io::EndpointCounters counters_;

  std::vector<io::Received> received_;  // of the thread that receives

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<io::Received> ready_;
  bool woken_ = false;
};

}  // namespace infold::lab
