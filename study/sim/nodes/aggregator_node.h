// SPDX-License-Identifier: Apache-2.0
//
// The real aggregator in the virtual network, as a leaf, a root, or one in between.
#pragma once

#include <optional>
#include <vector>

#include "core/adder/any_aggregator.h"
#include "study/sim/network/node.h"

namespace infold::sim {

class AggregatorNode final : public Node {
 public:
  // `only_adds` makes it a core::Adder.
  AggregatorNode(const core::AggregatorOptions& options, bool only_adds)
      : aggregator_(options, only_adds) {}

  // `to_workers` are in the order of the options' workers. `to_parent` is the path to the parent,
  // if there is one.
  void connect(std::vector<PathId> to_workers, std::optional<PathId> to_parent) {
    to_workers_ = std::move(to_workers);
    to_parent_ = to_parent;
  }

  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override;
  // The job is over, as a join server says.
  void end(const core::Abort& abort, Outlet& outlet);
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

  const core::AnyAggregator& aggregator() const { return aggregator_; }

 private:
  void transmit(Outlet& outlet);

  core::AnyAggregator aggregator_;
  std::vector<PathId> to_workers_;
  std::optional<PathId> to_parent_;
};

}  // namespace infold::sim
