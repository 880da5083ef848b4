// SPDX-License-Identifier: Apache-2.0
//
// A datagram's link says which aggregator it is for, and whose it can be: a worker's link brings
// nothing of the parent or of another worker.
#include "site/aggregator_driver.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "io/host/clock.h"
#include "site/driver_thread.h"

namespace infold::site {

AggregatorDriver::AggregatorDriver(std::vector<Node> nodes, std::unique_ptr<io::Endpoint> endpoint)
    : nodes_(std::move(nodes)), endpoint_(std::move(endpoint)) {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    aggregators_.emplace_back(nodes_[index].options);
    using Side = core::Source::Side;
    const auto add = [&](io::Peer peer, core::Source source) {
      const auto place = static_cast<std::size_t>(peer);
      links_.resize(std::max(links_.size(), place + 1));
      links_[place] = {index, source};
    };
    for (std::size_t worker = 0; worker < nodes_[index].workers.size(); ++worker) {
      const core::Source source = {Side::below, static_cast<std::uint8_t>(worker)};
      add(nodes_[index].workers[worker], source);
    }
    if (nodes_[index].parent) add(*nodes_[index].parent, {Side::above, {}});
  }
  thread_ = start_driver_thread("infold-switch", [this] { run(); });
}

AggregatorDriver::~AggregatorDriver() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  endpoint_->wake();
  thread_.join();
}

void AggregatorDriver::run() {
  for (;;) {
    const std::span<const io::Received> batch = endpoint_->receive();
    if (!step(batch)) return;
    const base::Instant now = io::monotonic_now();
    if (!batch.empty()) {
      polling_.found(now);
    } else {
      polling_.wait(now, last_was_small_, [this] { endpoint_->wait(base::Instant::never()); });
    }
  }
}

bool AggregatorDriver::step(std::span<const io::Received> batch) {
  const std::lock_guard lock(mutex_);
  for (const io::Received& received : batch) handle(received);
  endpoint_->flush();
  return !stops_;
}

void AggregatorDriver::handle(const io::Received& received) {
  CHECK_THAT(static_cast<std::size_t>(received.from), <, links_.size());
  const Link& link = links_[static_cast<std::size_t>(received.from)];
  core::Aggregator& aggregator = aggregators_[link.node];
  core::Packet packet;
  if (core::parse_at_aggregator(received.datagram, packet) != core::Malformed::none) {
    aggregator.count_malformed();
    return;
  }
  last_was_small_ = packet.header.slot < nodes_[link.node].small_slots;
  aggregator.handle(packet, link.source);
  while (const auto transmit = aggregator.poll_transmit()) send(nodes_[link.node], *transmit);
}

void AggregatorDriver::send(const Node& node, const core::Aggregator::Transmit& transmit) {
  switch (transmit.to) {
    case core::Aggregator::To::worker:
      if (transmit.worker < node.workers.size()) {
        endpoint_->send(node.workers[transmit.worker], transmit.datagram);
      }
      return;
    case core::Aggregator::To::all_workers:
      for (const io::Peer worker : node.workers) endpoint_->send(worker, transmit.datagram);
      return;
    case core::Aggregator::To::parent: endpoint_->send(*node.parent, transmit.datagram); return;
  }
}

io::EndpointCounters AggregatorDriver::endpoint_counters() {
  const std::lock_guard lock(mutex_);
  return endpoint_->counters();
}

core::VerdictCounters AggregatorDriver::verdicts() {
  const std::lock_guard lock(mutex_);
  core::VerdictCounters sum{};
  for (const core::Aggregator& aggregator : aggregators_) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += aggregator.counters()[i];
  }
  return sum;
}

}  // namespace infold::site
