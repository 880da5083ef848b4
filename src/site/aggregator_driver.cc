// SPDX-License-Identifier: Apache-2.0
//
// The link over which a datagram arrives decides its aggregator and its sender, so a worker cannot
// pretend to be the parent or another worker.
#include "site/aggregator_driver.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace infold::site {

AggregatorDriver::AggregatorDriver(std::vector<Node> nodes, std::unique_ptr<io::Endpoint> endpoint)
    : nodes_(std::move(nodes)), endpoint_(std::move(endpoint)) {
  using Side = core::Source::Side;
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    aggregators_.emplace_back(node.options);
    for (std::size_t worker = 0; worker < node.workers.size(); ++worker) {
      add_link(node.workers[worker], {index, {Side::below, static_cast<std::uint8_t>(worker)}});
    }
    if (node.parent) add_link(*node.parent, {index, {Side::above, {}}});
  }
  loop_.emplace("infold-switch", static_cast<PacketServer&>(*this));
}

void AggregatorDriver::add_link(io::Neighbour neighbour, const Link& link) {
  const auto place = static_cast<std::size_t>(neighbour);
  links_.resize(std::max(links_.size(), place + 1));
  links_[place] = link;
}

std::size_t AggregatorDriver::serve() {
  const std::span<const io::Received> batch = endpoint_->receive();
  for (const io::Received& received : batch) handle(received);
  endpoint_->flush();
  return batch.size();
}

void AggregatorDriver::handle(const io::Received& received) {
  CHECK_THAT(static_cast<std::size_t>(received.from), <, links_.size());
  const Link& link = links_[static_cast<std::size_t>(received.from)];
  const Node& node = nodes_[link.node];
  core::Aggregator& aggregator = aggregators_[link.node];
  core::Packet packet;
  if (core::parse_at_aggregator(received.datagram, packet) != core::Malformed::none) {
    aggregator.count_malformed();
    return;
  }
  last_was_small_ = packet.header.slot < node.small_slots;
  aggregator.handle(packet, link.source);
  while (const auto transmit = aggregator.poll_transmit()) send(node, *transmit);
}

void AggregatorDriver::send(const Node& node, const core::Aggregator::Transmit& transmit) {
  switch (transmit.to) {
    case core::Aggregator::To::worker:
      if (transmit.worker < node.workers.size()) {
        endpoint_->send(node.workers[transmit.worker], transmit.datagram);
      }
      return;
    case core::Aggregator::To::all_workers:
      for (std::size_t i = 0; i < node.workers.size(); ++i) {
        endpoint_->send(node.workers[i], transmit.datagram_for(i));
      }
      return;
    case core::Aggregator::To::parent: endpoint_->send(*node.parent, transmit.datagram); return;
  }
}

io::EndpointCounters AggregatorDriver::endpoint_counters() {
  io::EndpointCounters counters;
  loop_->run([&] { counters = endpoint_->counters(); });
  return counters;
}

core::VerdictCounters AggregatorDriver::verdicts() {
  core::VerdictCounters sum{};
  loop_->run([&] {
    for (const core::Aggregator& aggregator : aggregators_) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += aggregator.counters()[i];
    }
  });
  return sum;
}

}  // namespace infold::site
