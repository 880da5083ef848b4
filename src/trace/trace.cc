// SPDX-License-Identifier: Apache-2.0
#include "trace/trace.h"

#include <limits>

namespace infold::trace {

const char* node_type_name(NodeType type) {
  switch (type) {
    case NodeType::invalid: return "invalid";
    case NodeType::metadata: return "metadata";
    case NodeType::memory_load: return "memory load";
    case NodeType::memory_store: return "memory store";
    case NodeType::compute: return "compute";
    case NodeType::send: return "send";
    case NodeType::receive: return "receive";
    case NodeType::collective: return "collective";
    case NodeType::storage: return "storage";
    case NodeType::batch: return "batch";
    case NodeType::checkpoint: return "checkpoint";
  }
  return "unknown";
}

const char* collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::reduce: return "reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::gather: return "gather";
    case CollectiveKind::scatter: return "scatter";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::reduce_scatter_block: return "reduce_scatter_block";
    case CollectiveKind::barrier: return "barrier";
  }
  return "unknown";
}

std::optional<Collective> collective_of(const Node& node) {
  if (node.type != NodeType::collective) return std::nullopt;
  const auto kind = whole(node.attributes, "comm_type");
  if (!kind || *kind >= kCollectiveKinds) return std::nullopt;
  Collective found;
  found.kind = static_cast<CollectiveKind>(*kind);
  found.bytes = whole(node.attributes, "comm_size").value_or(0);
  found.group = text(node.attributes, "pg_name").value_or("");
  found.data_type = text(node.attributes, "dtype").value_or("");
  const std::uint64_t root = whole(node.attributes, "comm_src").value_or(0);
  if (root > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return std::nullopt;
  found.root = static_cast<int>(root);
  return found;
}

std::vector<std::int64_t> ranks_of_group(const Trace& trace, std::string_view group) {
  const Attribute* const found = find(trace.attributes, "pg_ranks:" + std::string(group));
  const auto* const ranks =
      found != nullptr ? std::get_if<std::vector<std::int64_t>>(&found->value) : nullptr;
  return ranks != nullptr ? *ranks : std::vector<std::int64_t>();
}

std::optional<std::uint64_t> step_of(const Node& node) { return whole(node.attributes, "step"); }

bool ends_step(const Node& node) {
  return node.type == NodeType::metadata && node.name == "step" && step_of(node).has_value();
}

CountedSteps::CountedSteps(const Trace& trace) {
  std::set<std::uint64_t> ended;
  for (const Node& node : trace.nodes) {
    const auto step = step_of(node);
    if (step) (ends_step(node) ? ended : numbers_).insert(*step);
  }
  if (!ended.empty()) std::erase_if(numbers_, [&](auto number) { return !ended.contains(number); });
}

std::optional<std::uint64_t> CountedSteps::of(const Node& node) const {
  const auto step = step_of(node);
  if (numbers_.empty()) return 0;
  return step && numbers_.contains(*step) ? step : std::nullopt;
}

}  // namespace infold::trace
