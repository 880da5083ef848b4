// SPDX-License-Identifier: Apache-2.0
//
// Serves the site's socket first, because it may hold the last contributions to this rank's own
// chunks.
#include "rank/session/path/summing_endpoint.h"

#include <utility>

namespace infold::rank {

SummingEndpoint::SummingEndpoint(std::unique_ptr<io::UdpEndpoint> network,
                                 std::unique_ptr<site::AggregationSite> site, io::Neighbour own)
    : network_(std::move(network)), own_(own), site_(std::move(site)) {}

SummingEndpoint::~SummingEndpoint() {
  site_->end_all_jobs({core::AbortReason::stopped, 0, 0, {}, {}});
  if (sends_) unlock_after_sending();
}

void SummingEndpoint::lock_for_sending() {
  if (!std::exchange(sends_, true)) mutex_.lock();
}

void SummingEndpoint::unlock_after_sending() {
  sends_ = false;
  mutex_.unlock();
}

void SummingEndpoint::send(io::Neighbour to, std::span<const std::byte> datagram) {
  if (to != own_) {
    network_->send(to, datagram);
    return;
  }
  ++sent_to_own_;
  lock_for_sending();
  site_->handle_own(datagram);
}

void SummingEndpoint::send_apart(io::Neighbour to, std::span<const std::byte> head,
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
  if (!sends_) return;
  lock_for_sending();
  site_->flush();
  const bool receiver_sleeps = sleeps_ && site_->has_answers();
  unlock_after_sending();
  if (receiver_sleeps) network_->wake();
}

std::span<const io::Received> SummingEndpoint::receive() {
  received_.clear();
  {
    const base::MutexLock lock(mutex_);
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
  int descriptor = -1;
  {
    const base::MutexLock lock(mutex_);
    if (site_->has_answers()) return;
    sleeps_ = true;
    descriptor = site_->descriptor();
  }
  network_->wait_beside(deadline, descriptor);
  const base::MutexLock lock(mutex_);
  sleeps_ = false;
}

io::EndpointCounters SummingEndpoint::counters() const {
  io::EndpointCounters counters = network_->counters();
  counters.sent += sent_to_own_;
  return counters;
}

}  // namespace infold::rank
