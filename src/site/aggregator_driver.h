// SPDX-License-Identifier: Apache-2.0
//
// Runs the aggregators that are embedded in a rank on one thread and one endpoint. The thread reads
// packets, hands them to the aggregators, sends their answers, and sleeps until something arrives.
// Aggregators have no timers, so there is nothing else to do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/endpoint.h"
#include "site/serve_loop.h"

namespace infold::site {

class AggregatorDriver final : private PacketServer {
 public:
  // One aggregator and its links at the endpoint.
  struct Node {
    core::AggregatorOptions options;
    std::vector<io::Neighbour> workers;  // in the order of options.workers
    std::optional<io::Neighbour> parent;
    std::uint16_t small_slots = 0;  // slots below this one are for small tensors
  };

  // Requires: every neighbour of the endpoint belongs to one node. Throws std::system_error if the
  // system cannot start a thread.
  AggregatorDriver(std::vector<Node> nodes, std::unique_ptr<io::Endpoint> endpoint);

  io::EndpointCounters endpoint_counters();
  core::VerdictCounters verdicts();

 private:
  struct Link {
    std::size_t node = 0;
    core::Source source;
  };

  std::size_t serve() override;
  bool last_was_small() const override { return last_was_small_; }
  void wait(base::Instant deadline) override { endpoint_->wait(deadline); }
  void wake() override { endpoint_->wake(); }
  void add_link(io::Neighbour neighbour, const Link& link);
  void handle(const io::Received& received);
  void send(const Node& node, const core::Aggregator::Transmit& transmit);

  std::vector<Node> nodes_;
  std::vector<core::Aggregator> aggregators_;
  std::vector<Link> links_;  // indexed by neighbour
  std::unique_ptr<io::Endpoint> endpoint_;
  bool last_was_small_ = false;
  std::optional<ServeLoop> loop_;  // starts last and stops first
};

}  // namespace infold::site
