// SPDX-License-Identifier: Apache-2.0
#include "trace/views/summary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/graph.h"

namespace infold::trace {
namespace {

void count_nodes(const Trace& trace, Summary& summary) {
  std::map<std::pair<int, std::string>, CollectiveRow> rows;
  for (const Node& node : trace.nodes) {
    if (const auto collective = collective_of(node)) {
      CollectiveRow& row = rows[{static_cast<int>(collective->kind), collective->group}];
      row.kind = collective_name(collective->kind);
      row.group = printable(collective->group);
      ++row.calls;
      row.bytes += collective->bytes;
      row.us += node.duration_us;
    } else if (node.type == NodeType::compute) {
      ++summary.compute_nodes;
      summary.compute_us += node.duration_us;
    } else if (node.type != NodeType::metadata) {
      ++summary.other_nodes;
      summary.other_us += node.duration_us;
    } else if (ends_step(node)) {
      summary.steps.push_back({*step_of(node), node.duration_us});
    }
  }
  for (auto& [key, row] : rows) summary.collectives.push_back(std::move(row));
}

void measure_span(const Trace& trace, Summary& summary) {
  if (trace.nodes.empty()) return;
  std::uint64_t first = trace.nodes.front().start_us;
  std::uint64_t last = 0;
  for (const Node& node : trace.nodes) {
    first = std::min(first, node.start_us);
    last = std::max(last, node.start_us + node.duration_us);
  }
  summary.span_us = last - first;
}

// The longest chain that ends with a node: its time, and the part of that time in collectives.
struct Chain {
  std::uint64_t us = 0;
  std::uint64_t collective_us = 0;
};

void measure_critical_path(const Trace& trace, Summary& summary) {
  const Graph graph(trace);
  std::vector<Chain> before(trace.nodes.size());
  for (const std::size_t i : graph.order()) {
    const Node& node = trace.nodes[i];
    Chain chain = before[i];
    chain.us += weight_of(node);
    if (node.type == NodeType::collective) chain.collective_us += weight_of(node);
    for (const std::size_t child : graph.children(i)) {
      if (chain.us > before[child].us) before[child] = chain;
    }
    if (chain.us > summary.critical_us) {
      summary.critical_us = chain.us;
      summary.critical_collective_us = chain.collective_us;
    }
  }
}

}  // namespace

std::uint64_t weight_of(const Node& node) {
  return node.type == NodeType::metadata ? 0 : node.duration_us;
}

Summary summary_of(const Trace& trace) {
  Summary summary;
  summary.rank = trace.rank();
  summary.world = trace.world();
  summary.version = printable(trace.version);
  summary.nodes = trace.nodes.size();
  count_nodes(trace, summary);
  measure_span(trace, summary);
  measure_critical_path(trace, summary);
  return summary;
}

}  // namespace infold::trace
