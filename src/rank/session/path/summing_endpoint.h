// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a rank that also sums. The thread that receives also serves the rank's
// aggregation site, and packets between the rank's worker and its site stay in the process. One
// thread and one wake-up therefore do both jobs, and fewer bytes go through the kernel. While no
// thread receives, other ranks wait for their sums.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "io/udp/udp_endpoint.h"
#include "site/aggregation_site.h"

namespace infold::rank {

class SummingEndpoint final : public io::Endpoint {
 public:
  // `own` is the neighbour of the network's endpoint that stands for this rank's site. Requires:
  // the site has adopted the worker that uses this endpoint.
  SummingEndpoint(std::unique_ptr<io::UdpEndpoint> network,
                  std::unique_ptr<site::AggregationSite> site, io::Neighbour own);
  ~SummingEndpoint() override;  // tells every job that this aggregator has stopped

  // The rank's own site reads the datagram there as well.
  std::span<std::byte> place() override { return network_->place(); }
  void send(io::Neighbour to, std::span<const std::byte> datagram) override;
  bool sends_apart() const override { return network_->sends_apart(); }
  void send_apart(io::Neighbour to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  bool is_blocked() const override { return network_->is_blocked(); }
  std::span<const io::Received> receive() override;
  std::optional<std::size_t> served() const override { return served_; }
  void wait(base::Instant deadline) override;
  void wake() override { network_->wake(); }
  std::optional<io::NarrowNeighbour> narrow_neighbour() const override {
    return network_->narrow_neighbour();
  }
  io::EndpointCounters counters() const override;

 private:
  // A sender holds the lock from its first datagram to the own site until the flush that follows,
  // because each lock waits for all earlier writes. clang cannot follow a lock from one call to the
  // next.
  void lock_for_sending() ASSERT_CAPABILITY(mutex_) NO_THREAD_SAFETY_ANALYSIS;
  void unlock_after_sending() RELEASE(mutex_);

  std::unique_ptr<io::UdpEndpoint> network_;
  const io::Neighbour own_;
  std::uint64_t sent_to_own_ = 0;
  std::vector<std::byte> gathered_;  // a datagram to the own site, joined from its parts

  bool sends_ = false;  // whether a sender holds mutex_

  // Used by the thread that receives.
  std::size_t served_ = 0;
  std::vector<io::Received> received_;

  base::Mutex mutex_;  // guards the site, which senders and the thread that receives use
  const std::unique_ptr<site::AggregationSite> site_ PT_GUARDED_BY(mutex_);
  bool sleeps_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::rank
