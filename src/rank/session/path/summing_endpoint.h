// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a rank that also sums. The thread that receives serves the rank's aggregation
// site at the same time, and packets between the two stay in the process. So one thread and one
// wake-up do both, and fewer bytes go through the kernel. While no thread receives, other ranks
// wait for their sums.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/udp/udp_endpoint.h"
#include "site/aggregation_site.h"

namespace infold::rank {

class SummingEndpoint final : public io::Endpoint {
 public:
  // `own` is the peer of the network's endpoint that stands for the site. Requires: the site has
  // adopted the worker that uses this endpoint.
  SummingEndpoint(std::unique_ptr<io::UdpEndpoint> network,
                  std::unique_ptr<site::AggregationSite> site, io::Peer own);
  ~SummingEndpoint() override;  // tells every job that this aggregator has stopped

  // The own site reads a datagram there, too.
  std::span<std::byte> place() override { return network_->place(); }
  void send(io::Peer to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return network_->sends_apart(); }
  void send_apart(io::Peer to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  bool is_blocked() const override { return network_->is_blocked(); }
  std::span<const io::Received> receive() override;
  std::optional<std::size_t> served() const override { return served_; }
  void wait(base::Instant deadline) override;
  void wake() override { network_->wake(); }
  std::optional<io::NarrowPeer> narrow_peer() const override { return network_->narrow_peer(); }
  io::EndpointCounters counters() const override;

 private:
  std::unique_ptr<io::UdpEndpoint> network_;
  const io::Peer own_;
  std::uint64_t sent_to_own_ = 0;
  std::vector<std::byte> gathered_;  // a datagram to the own site, in one piece

  // Of the thread that receives.
  std::size_t served_ = 0;
  std::vector<io::Received> received_;

  std::mutex mutex_;  // of all below: senders and the thread that receives use the site
  std::unique_ptr<site::AggregationSite> site_;
  bool sleeps_ = false;
  // Held from a datagram to the own site until the flush after it, because each lock waits for all
  // that was written before.
  std::unique_lock<std::mutex> sending_;
};

}  // namespace infold::rank
