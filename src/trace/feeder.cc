// SPDX-License-Identifier: Apache-2.0
#include "trace/feeder.h"

#include "base/check.h"

namespace infold::trace {

Feeder::Feeder(const Trace& trace)
    : graph_(trace), left_(graph_.dependencies()), states_(trace.nodes.size(), State::waits) {
  ids_.reserve(trace.nodes.size());
  for (const Node& node : trace.nodes) ids_.push_back(node.id);
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i] == 0) ready_.emplace(ids_[i], i);
  }
}

std::optional<std::size_t> Feeder::next() {
  if (ready_.empty()) return std::nullopt;
  const std::size_t node = ready_.top().second;
  ready_.pop();
  states_[node] = State::runs;
  ++handed_out_;
  return node;
}

void Feeder::done(std::size_t node) {
  CHECK(node < states_.size());
  CHECK(states_[node] == State::runs);
  states_[node] = State::done;
  ++done_;
  for (const std::size_t child : graph_.children(node)) {
    if (--left_[child] == 0) ready_.emplace(ids_[child], child);
  }
}

}  // namespace infold::trace
