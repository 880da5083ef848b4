// SPDX-License-Identifier: Apache-2.0
//
// Adds two paths for each child of each aggregator.
#include "study/sim/nodes/tree_paths.h"

#include <optional>

namespace infold::sim {

PathId add_path(Network& network, std::uint8_t site, NodeId source,
                const std::vector<NodeId>& between, NodeId destination) {
  Path path;
  path.source = source;
  path.site = site;
  for (const NodeId node : between) path.append(node);
  path.append(destination);
  return network.add_path(path);
}

std::vector<RankPaths> connect_tree(
    Network& network, const TreeEnds& ends,
    const std::function<Between(std::size_t parent, const plan::Child& child)>& between) {
  const std::size_t count = ends.aggregators.size();
  std::vector<RankPaths> of_ranks;
  std::vector<std::vector<PathId>> to_children(count);
  std::vector<std::optional<PathId>> to_parent(count);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId above = ends.aggregator_nodes[i];
    for (const plan::Child& child : ends.tree.aggregators[i].children) {
      const NodeId below = child.is_rank() ? ends.workers[child.ranks.first]
                                           : ends.aggregator_nodes[child.aggregator];
      const Between nodes = between(i, child);
      const PathId up = add_path(network, ends.site, below, nodes.up, above);
      const PathId down = add_path(network, ends.site, above, nodes.down, below);
      to_children[i].push_back(down);
      if (child.is_rank()) {
        of_ranks.push_back({child.ranks.first, up, down});
      } else {
        to_parent[child.aggregator] = up;
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    ends.aggregators[i]->connect(to_children[i], to_parent[i]);
  }
  return of_ranks;
}

}  // namespace infold::sim
