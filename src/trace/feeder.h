// SPDX-License-Identifier: Apache-2.0
//
// Hands out a trace's nodes once their dependencies are done. It does not read a clock; the caller
// decides when a node is done, in wall time or in virtual time. Ready nodes come in the order of
// their ids, so that all ranks issue the collectives of a group in the same order. It borrows
// nothing, and is for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "trace/graph.h"
#include "trace/trace.h"

namespace infold::trace {

class Feeder {
 public:
  // Requires: find_fault() finds nothing.
  explicit Feeder(const Trace& trace);

  // Returns the index in Trace::nodes of a node that is ready, each node once. Returns nothing if
  // no nodes are left, or if all that are left wait for nodes that are not done.
  std::optional<std::size_t> next();
  // Marks a node as done. Requires: next() returned the node, and it is not done yet.
  void done(std::size_t node);
  // Returns true once all nodes are done.
  bool is_finished() const { return done_ == graph_.nodes(); }
  // Returns how many nodes were handed out and are not done.
  std::size_t in_flight() const { return handed_out_ - done_; }

 private:
  using ById = std::pair<std::uint64_t, std::size_t>;
  enum class State : std::uint8_t { waits, runs, done };

  Graph graph_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::size_t> left_;  // dependencies that are not done
  std::vector<State> states_;
  std::priority_queue<ById, std::vector<ById>, std::greater<>> ready_;
  std::size_t handed_out_ = 0;
  std::size_t done_ = 0;
};

}  // namespace infold::trace
