// SPDX-License-Identifier: Apache-2.0
#include "trace/call_shape.h"

#include <algorithm>

#include <fmt/format.h>

namespace infold::trace {
namespace {

constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                               DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};

DataType type_of(const Collective& collective) {
  const DataType type = type_named(collective.data_type).value_or(DataType::f32);
  return collective.bytes % element_bytes(type) == 0 ? type : DataType::u8;
}

std::string called(const Node& node) {
  return fmt::format("node {} '{}'", node.id, printable(node.name));
}

bool is_supported(CollectiveKind kind) {
  return kind != CollectiveKind::gather && kind != CollectiveKind::scatter &&
         kind != CollectiveKind::all_to_all;
}

bool scatters(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::reduce_scatter_block;
}

std::optional<std::string> find_unplayable(const Node& node, int world) {
  const Collective collective = *collective_of(node);
  if (!is_supported(collective.kind)) {
    return fmt::format("{} is {}, which infold leaves to other libraries; take it out of the trace",
                       called(node), collective_name(collective.kind));
  }
  const auto ranks = static_cast<std::uint64_t>(world);
  const std::uint64_t outputs = collective.kind == CollectiveKind::all_gather ? ranks : 1;
  if (collective.bytes > kReplayedBytesMax / outputs) {
    return fmt::format("{} has {} bytes at each of {} ranks; a replay has memory for 4 GiB a call",
                       called(node), collective.bytes, world);
  }
  if (scatters(collective.kind) && shape_of(collective, world).input % ranks != 0) {
    return fmt::format(
        "{} scatters {} bytes, which are no {} equal parts; replay it with the "
        "number of ranks that it was recorded with",
        called(node), collective.bytes, world);
  }
  if (collective.root >= world) {
    return fmt::format(
        "{} has the root {}, and there are {} ranks; replay it with the number of "
        "ranks that it was recorded with",
        called(node), collective.root, world);
  }
  return std::nullopt;
}

}  // namespace

std::optional<DataType> type_named(std::string_view name) {
  for (const DataType each : kTypes) {
    if (name == data_type_name(each)) return each;
  }
  return std::nullopt;
}

CallShape shape_of(const Collective& collective, int world) {
  CallShape shape;
  shape.kind = collective.kind;
  if (collective.kind == CollectiveKind::barrier) return shape;
  shape.type = type_of(collective);
  shape.root = collective.root;
  const auto ranks = static_cast<std::size_t>(world);
  shape.input = collective.bytes / element_bytes(shape.type);
  if (collective.kind == CollectiveKind::all_gather) shape.output = shape.input * ranks;
  if (scatters(collective.kind)) shape.output = shape.input / ranks;
  return shape;
}

Reduction reduction_of(DataType type) {
  const bool is_float = type == DataType::f32 || type == DataType::f64 || type == DataType::f16 ||
                        type == DataType::bf16;
  return is_float ? Reduction::average : Reduction::max;
}

GroupCalls calls_of(const Trace& trace) {
  GroupCalls calls;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    if (const auto found = collective_of(trace.nodes[i])) calls[found->group].push_back(i);
  }
  for (auto& [group, nodes] : calls) {
    std::sort(nodes.begin(), nodes.end(),
              [&](std::size_t a, std::size_t b) { return trace.nodes[a].id < trace.nodes[b].id; });
  }
  return calls;
}

std::vector<std::string> groups_of(const Trace& trace) {
  std::vector<std::string> groups;
  for (const auto& [group, nodes] : calls_of(trace)) groups.push_back(group);
  return groups;
}

std::optional<std::string> find_unplayable(
    const Trace& trace, const std::function<int(const std::string& group)>& world_of) {
  for (const Node& node : trace.nodes) {
    if (node.type == NodeType::send || node.type == NodeType::receive) {
      return fmt::format(
          "{} is a {}, which infold leaves to other libraries; take it out of the "
          "trace",
          called(node), node_type_name(node.type));
    }
    if (node.duration_us > kReplayedUsMax) {
      return fmt::format("{} lasts {} microseconds, and a replay at most a day", called(node),
                         node.duration_us);
    }
    const auto collective = collective_of(node);
    if (!collective) continue;
    if (auto reason = find_unplayable(node, world_of(collective->group))) return reason;
  }
  return std::nullopt;
}

}  // namespace infold::trace
