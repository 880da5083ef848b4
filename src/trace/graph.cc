// SPDX-License-Identifier: Apache-2.0
#include "trace/graph.h"

#include <algorithm>

namespace infold::trace {
namespace {

template <typename Visit>
void for_each_dependency(const Node& node, const NodeIndex& index, Visit&& visit) {
  for (const auto* ids : {&node.control_deps, &node.data_deps}) {
    for (const std::uint64_t id : *ids) {
      if (const auto parent = index.find(id)) visit(*parent);
    }
  }
}

}  // namespace

NodeIndex::NodeIndex(const Trace& trace) {
  nodes_.reserve(trace.nodes.size());
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) nodes_.emplace_back(trace.nodes[i].id, i);
  std::sort(nodes_.begin(), nodes_.end());
}

std::optional<std::size_t> NodeIndex::find(std::uint64_t id) const {
  const auto found =
      std::lower_bound(nodes_.begin(), nodes_.end(), std::pair<std::uint64_t, std::size_t>(id, 0));
  if (found == nodes_.end() || found->first != id) return std::nullopt;
  return found->second;
}

std::optional<std::uint64_t> NodeIndex::duplicate() const {
  const auto found =
      std::adjacent_find(nodes_.begin(), nodes_.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (found == nodes_.end()) return std::nullopt;
  return found->first;
}

Graph::Graph(const Trace& trace)
    : first_child_(trace.nodes.size() + 1), dependencies_(trace.nodes.size()) {
  const NodeIndex index(trace);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for_each_dependency(trace.nodes[i], index, [&](std::size_t parent) {
      ++first_child_[parent + 1];
      ++dependencies_[i];
    });
  }
  for (std::size_t i = 1; i < first_child_.size(); ++i) first_child_[i] += first_child_[i - 1];
  children_.resize(first_child_.back());
  std::vector<std::size_t> next(first_child_.begin(), first_child_.end() - 1);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    for_each_dependency(trace.nodes[i], index,
                        [&](std::size_t parent) { children_[next[parent]++] = i; });
  }
}

std::span<const std::size_t> Graph::children(std::size_t node) const {
  return std::span(children_).subspan(first_child_[node],
                                      first_child_[node + 1] - first_child_[node]);
}

std::vector<std::size_t> Graph::order() const {
  std::vector<std::size_t> left = dependencies_;
  std::vector<std::size_t> order;
  order.reserve(nodes());
  for (std::size_t i = 0; i < nodes(); ++i) {
    if (left[i] == 0) order.push_back(i);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (const std::size_t child : children(order[at])) {
      if (--left[child] == 0) order.push_back(child);
    }
  }
  return order;
}

}  // namespace infold::trace
