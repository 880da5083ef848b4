// SPDX-License-Identifier: Apache-2.0
//
// Connects the workers and aggregators of one tree with a path in each direction. The caller says
// which nodes a packet visits between a child and its aggregator.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "study/sim/network/network.h"
#include "study/sim/nodes/aggregator_node.h"

namespace infold::sim {

struct TreeEnds {
  const plan::Tree& tree;
  std::uint8_t site = 0;
  std::span<const NodeId> workers;  // by rank
  std::span<const NodeId> aggregator_nodes;
  std::span<AggregatorNode* const> aggregators;  // both in the tree's order
};

// The nodes between a child and its aggregator, in the order in which a packet visits them.
struct Between {
  std::vector<NodeId> up;
  std::vector<NodeId> down;
};

// A rank's paths to and from its aggregator.
struct RankPaths {
  std::uint16_t rank = 0;
  PathId up = 0;
  PathId down = 0;
};

// Adds a path for one site's packets through the nodes between its ends.
PathId add_path(Network& network, std::uint8_t site, NodeId source,
                const std::vector<NodeId>& between, NodeId destination);

// Connects the aggregators. Returns the paths of all ranks, in the tree's order.
std::vector<RankPaths> connect_tree(
    Network& network, const TreeEnds& ends,
    const std::function<Between(std::size_t parent, const plan::Child& child)>& between);

}  // namespace infold::sim
