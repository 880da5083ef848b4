// SPDX-License-Identifier: Apache-2.0
//
// The dependencies of a trace's nodes as indices, for walks along them. A graph borrows nothing.
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
  // Returns an id that two nodes have, if there is one.
  std::optional<std::uint64_t> duplicate() const;

 private:
  std::vector<std::pair<std::uint64_t, std::size_t>> nodes_;  // by id
};

class Graph {
 public:
  // Leaves out dependencies on nodes that do not exist. If several nodes have the same id, the
  // first counts.
  explicit Graph(const Trace& trace);

  std::size_t nodes() const { return dependencies_.size(); }
  // Returns the nodes that wait for this one. A node that depends on it twice is listed twice.
  std::span<const std::size_t> children(std::size_t node) const;
  // Returns how many dependencies each node has.
  const std::vector<std::size_t>& dependencies() const { return dependencies_; }
  // Returns the nodes in an order in which each comes after its dependencies. Nodes in a cycle, and
  // nodes that depend on them, are missing.
  std::vector<std::size_t> order() const;

 private:
  std::vector<std::size_t> first_child_;  // for each node, and one past the last
  std::vector<std::size_t> children_;
  std::vector<std::size_t> dependencies_;
};

}  // namespace infold::trace
