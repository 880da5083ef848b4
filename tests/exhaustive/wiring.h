// SPDX-License-Identifier: Apache-2.0
//
// The machines of a case, and the receivers of each. Nodes are numbered: workers first, then leaf
// aggregators (or the striping sites), then a tree's root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/adder/any_aggregator.h"
#include "core/team/worker_team.h"
#include "plan/plan.h"
#include "tests/exhaustive/model_case.h"

namespace infold::exhaustive {

using NodeIndex = std::uint8_t;

// A receiver, and for a worker also the site that the packet comes from.
struct Endpoint {
  NodeIndex node = 0;
  std::uint8_t site = 0;
};

class Wiring {
 public:
  explicit Wiring(const Case& model_case);

  std::uint32_t node_count() const {
    return static_cast<std::uint32_t>(worker_count_ + aggregators_.size());
  }
  std::uint32_t worker_count() const { return worker_count_; }
  bool is_worker(NodeIndex node) const { return node < worker_count_; }

  core::WorkerTeam make_worker(NodeIndex node) const;
  core::AnyAggregator make_aggregator(NodeIndex node) const;

  // The node of a worker's site.
  NodeIndex site_of(NodeIndex worker, std::uint8_t site) const;
  // All nodes below an aggregator, by worker number.
  const std::vector<Endpoint>& below(NodeIndex aggregator) const {
    return aggregators_[aggregator - worker_count_].below;
  }
  std::optional<NodeIndex> parent_of(NodeIndex aggregator) const {
    return aggregators_[aggregator - worker_count_].parent;
  }
  // Traces name things with this.
  std::string name(NodeIndex node) const;

 private:
  struct Place {
    core::AggregatorOptions options;
    std::vector<Endpoint> below;
    std::optional<NodeIndex> parent;
  };

  void add_tree(std::size_t tree);

  const Case& case_;
  std::uint32_t worker_count_;
  const plan::Plan plan_;
  std::vector<core::WorkerOptions> workers_;
  std::vector<Place> aggregators_;
};

// The job of all cases.
inline constexpr std::uint16_t kJob = 7;

}  // namespace infold::exhaustive
