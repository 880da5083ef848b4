// SPDX-License-Identifier: Apache-2.0
//
// The dependencies of a trace's nodes as numbers of nodes, for walks along them. It borrows
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace infold::trace {

// Finds nodes by id.
class NodeIndex {
 public:
  explicit NodeIndex(const Trace& trace);
  std::optional<std::size_t> find(std::uint64_t id) const;
  // An id that two nodes have.
  std::optional<std::uint64_t> duplicate() const;

 private:
  std::vector<std::pair<std::uint64_t, std::size_t>> nodes_;  // by id
};

class Graph {
 public:
  // Leaves out dependencies on nodes that are not there. Of nodes with one id, the first counts.
  explicit Graph(const Trace& trace);

  std::size_t nodes() const { return dependencies_.size(); }
  // Nodes that wait for this one; a node is there once for each of its dependencies on it.
  std::span<const std::size_t> children(std::size_t node) const;
  // How many dependencies each node has.
  const std::vector<std::size_t>& dependencies() const { return dependencies_; }
  // Nodes so that each comes after its dependencies. Nodes of a cycle, and nodes behind it, are
  // missing.
  std::vector<std::size_t> order() const;

 private:
  std::vector<std::size_t> first_child_;  // of each node, and the end
  std::vector<std::size_t> children_;
  std::vector<std::size_t> dependencies_;
};

}  // namespace infold::trace
