// SPDX-License-Identifier: Apache-2.0
//
// An endpoint without a network. Every contribution returns at once as the result of a job with one
// rank, because a sum of one contribution is the contribution itself. A rank's own work can thus be
// measured alone. The packets lie in a ring that stays in the cache.
//
// Threads may call it as any endpoint. Requires: fewer packets in flight than `datagrams`.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "io/endpoint.h"

namespace infold::measure {

class EchoEndpoint final : public io::Endpoint {
 public:
  EchoEndpoint(std::size_t datagram_bytes_max, std::size_t datagrams);

  std::span<std::byte> place() override;
  // Requires: the datagram is in place(), unless it is the message with which a rank leaves.
  void send(io::Neighbour to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return true; }
  // The result consists of the header and whatever bytes lie in the ring, because copying the
  // payload would be the kernel's work. Requires: the head is in place().
  void send_apart(io::Neighbour to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  std::span<const io::Received> receive() override;
  void wait(base::Instant deadline) override;
  void wake() override;
  io::EndpointCounters counters() const override { return counters_; }

 private:
  // Used by senders, who take turns.
  std::size_t datagram_bytes_max_;
  std::vector<std::byte> ring_;
  std::size_t next_ = 0;
  std::vector<io::Received> sent_;  // packets since the last flush
  io::EndpointCounters counters_;

  std::vector<io::Received> received_;  // used by the thread that receives

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<io::Received> ready_ GUARDED_BY(mutex_);
  bool woken_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::measure
