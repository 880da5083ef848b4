// SPDX-License-Identifier: Apache-2.0
//
// Serves the site's socket first, because it may hold the last contributions to our own chunks.
#include "rank/session/path/summing_endpoint.h"

#include <utility>

namespace infold::rank {

SummingEndpoint::SummingEndpoint(std::unique_ptr<io::UdpEndpoint> network,
                                 std::unique_ptr<site::AggregationSite> site, io::Peer own)
    : network_(std::move(network)),
      own_(own),
      site_(std::move(site)),
      sending_(mutex_, std::defer_lock) {}

SummingEndpoint::~SummingEndpoint() {
  site_->end_all_jobs({core::AbortReason::stopped, 0, 0, {}, {}});
}

void SummingEndpoint::send(io::Peer to, std::span<const std::byte> datagram) {
  if (to != own_) {
    network_->send(to, datagram);
    return;
  }
  ++sent_to_own_;
  if (!sending_.owns_lock()) sending_.lock();
  site_->handle_own(datagram);
}

void SummingEndpoint::send_apart(io::Peer to, std::span<const std::byte> head,
                                 std::span<const std::byte> payload) {
  if (to != own_) {
    network_->send_apart(to, head, payload);
    return;
  }
  gathered_.assign(head.begin(), head.end());
  gathered_.insert(gathered_.end(), payload.begin(), payload.end());
  send(to, gathered_);
}

void SummingEndpoint::flush() {
  network_->flush();
  if (!sending_.owns_lock()) return;
  site_->flush();
  const bool receiver_sleeps = sleeps_ && site_->has_answers();
  sending_.unlock();
  if (receiver_sleeps) network_->wake();
}

std::span<const io::Received> SummingEndpoint::receive() {
  received_.clear();
  {
    const std::lock_guard lock(mutex_);
    served_ = site_->serve();
    for (const std::span<const std::byte> answer : site_->take_answers()) {
      received_.push_back({own_, answer});
    }
  }
  const std::span<const io::Received> arrived = network_->receive();
  if (received_.empty()) return arrived;
  received_.insert(received_.end(), arrived.begin(), arrived.end());
  return received_;
}

void SummingEndpoint::wait(base::Instant deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (site_->has_answers()) return;
    sleeps_ = true;
  }
  network_->wait_beside(deadline, site_->descriptor());
  const std::lock_guard lock(mutex_);
  sleeps_ = false;
}

io::EndpointCounters SummingEndpoint::counters() const {
  io::EndpointCounters counters = network_->counters();
  counters.sent += sent_to_own_;
  return counters;
}

}  // namespace infold::rank
