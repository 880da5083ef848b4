// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_check.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/call_shape.h"
#include "trace/graph.h"

namespace infold::trace {
namespace {

constexpr std::uint64_t kWorldMax = 1 << 20;
// No rank has enough memory for an input of a tebibyte.
constexpr std::uint64_t kInputBytesMax = std::uint64_t{1} << 40;
constexpr const char* kAgain = "; record the trace again";

std::string called(const Node& node) {
  return fmt::format("node {} '{}'", node.id, printable(node.name));
}

std::optional<std::string> find_missing_dependency(const Trace& trace, const NodeIndex& index) {
  for (const Node& node : trace.nodes) {
    for (const auto* ids : {&node.control_deps, &node.data_deps}) {
      for (const std::uint64_t id : *ids) {
        if (index.find(id)) continue;
        return fmt::format("{} depends on node {}, which the file does not have{}", called(node),
                           id, kAgain);
      }
    }
  }
  return std::nullopt;
}

// Requires: a cycle.
std::string describe_cycle(const Trace& trace, const Graph& graph,
                           const std::vector<std::size_t>& order) {
  std::vector<bool> is_ordered(trace.nodes.size());
  for (const std::size_t node : order) is_ordered[node] = true;
  // Each node that is not ordered depends on another such node, so the walk comes back to one of
  // them.
  const NodeIndex index(trace);
  std::vector<bool> was_here(trace.nodes.size());
  std::size_t at = 0;
  while (is_ordered[at]) ++at;
  while (!was_here[at]) {
    was_here[at] = true;
    const Node& node = trace.nodes[at];
    for (const auto* ids : {&node.control_deps, &node.data_deps}) {
      for (const std::uint64_t id : *ids) {
        const std::size_t parent = *index.find(id);
        if (!is_ordered[parent]) at = parent;
      }
    }
  }
  return fmt::format("{} depends on itself, through a cycle among {} nodes{}",
                     called(trace.nodes[at]), graph.nodes() - order.size(), kAgain);
}

// A rank without a world is allowed; find_fault_of_set() then uses the number of files as the
// world.
std::optional<std::string> find_fault_of_metadata(const Trace& trace) {
  if (find(trace.attributes, "world") == nullptr) return std::nullopt;
  const auto world = trace.world();
  if (!world || *world == 0 || *world > kWorldMax) {
    return fmt::format(
        "the metadata's world is not a number from 1 to {}; set its attribute world to the number "
        "of "
        "ranks",
        kWorldMax);
  }
  const std::uint64_t rank = trace.rank().value_or(0);
  if (rank < *world) return std::nullopt;
  return fmt::format("the metadata has rank {} in a world of {}; ranks count from 0{}", rank,
                     *world, kAgain);
}

std::string no_root(const Node& node, std::uint64_t ranks) {
  return fmt::format(
      "{} has a root that is none of the group's {} ranks; set its attribute comm_src to a number "
      "from 0 to {}",
      called(node), ranks, ranks - 1);
}

// A root is a position in the group. If the trace does not list the group, it has all ranks.
std::optional<std::string> find_wrong_root(const Node& node, const Trace& trace) {
  if (find(node.attributes, "comm_src") == nullptr) return std::nullopt;
  const std::string group = text(node.attributes, "pg_name").value_or("");
  const std::size_t listed = ranks_of_group(trace, group).size();
  const std::uint64_t ranks = listed > 0 ? listed : trace.world().value_or(kWorldMax);
  const auto root = whole(node.attributes, "comm_src");
  if (root && *root < ranks) return std::nullopt;
  return no_root(node, ranks);
}

std::optional<std::string> find_wrong_type(const Node& node) {
  if (find(node.attributes, "dtype") == nullptr) return std::nullopt;
  const auto name = text(node.attributes, "dtype");
  if (name && (name->empty() || type_named(*name))) return std::nullopt;
  return fmt::format(
      "{} has the type '{}', which infold does not know; set its attribute dtype to f32, f16, "
      "bf16, f64, i8, u8, i32 or i64",
      called(node), printable(name.value_or("(no text)")));
}

std::optional<std::string> find_wrong_size(const Node& node, CollectiveKind kind) {
  const auto bytes = whole(node.attributes, "comm_size");
  if (!bytes && kind != CollectiveKind::barrier) {
    return fmt::format("{}, {}, has no size; set its attribute comm_size to the bytes of the input",
                       called(node), collective_name(kind));
  }
  if (bytes.value_or(0) <= kInputBytesMax) return std::nullopt;
  return fmt::format(
      "{} has {} bytes, and no rank has memory for more than {}; set its attribute comm_size to "
      "the bytes of the input",
      called(node), *bytes, kInputBytesMax);
}

std::optional<std::string> find_fault_of(const Node& node, const Trace& trace) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (node.start_us > kMost || node.duration_us > kMost - node.start_us) {
    return called(node) + " ends after 2^63 microseconds; the writer's clock is wrong" + kAgain;
  }
  if (node.type != NodeType::collective) return std::nullopt;
  if (auto wrong = find_wrong_root(node, trace)) return wrong;
  const auto collective = collective_of(node);
  if (!collective) {
    return called(node) +
           " is a collective without a known kind; set its attribute comm_type to a "
           "number from 0 to 9";
  }
  if (auto wrong = find_wrong_size(node, collective->kind)) return wrong;
  return find_wrong_type(node);
}

// Returns whether this kind of collective requires inputs of the same size at all ranks.
bool has_one_size(CollectiveKind kind) {
  return kind != CollectiveKind::gather && kind != CollectiveKind::scatter &&
         kind != CollectiveKind::all_to_all;
}

// One rank's calls in one group.
struct CallsOf {
  const NamedTrace* trace = nullptr;
  std::vector<std::size_t> nodes;

  const Node& node(std::size_t call) const { return trace->trace.nodes[nodes[call]]; }
};

std::optional<std::string> find_disagreement(const std::string& group, const CallsOf& a,
                                             const CallsOf& b) {
  for (std::size_t i = 0; i < std::min(a.nodes.size(), b.nodes.size()); ++i) {
    const Collective own = *collective_of(a.node(i));
    const Collective theirs = *collective_of(b.node(i));
    const bool same_size = own.bytes == theirs.bytes || !has_one_size(own.kind);
    const bool same_type =
        own.data_type == theirs.data_type || own.data_type.empty() || theirs.data_type.empty();
    if (own.kind == theirs.kind && same_size && (!same_type || own.root != theirs.root)) {
      return fmt::format(
          "{}: {} is {} of {} with root {}, and in {} {} is of {} with root {}; these are not "
          "files of one run",
          a.trace->file, called(a.node(i)), collective_name(own.kind), printable(own.data_type),
          own.root, b.trace->file, called(b.node(i)), printable(theirs.data_type), theirs.root);
    }
    if (own.kind == theirs.kind && same_size) continue;
    return fmt::format(
        "{}: {} is {} of {} bytes, and in {} {} is {} of {} bytes; these are not "
        "files of one run",
        a.trace->file, called(a.node(i)), collective_name(own.kind), own.bytes, b.trace->file,
        called(b.node(i)), collective_name(theirs.kind), theirs.bytes);
  }
  if (a.nodes.size() == b.nodes.size()) return std::nullopt;
  return fmt::format(
      "{} has {} collectives of group '{}', and {} has {}; these are not files of one run",
      a.trace->file, a.nodes.size(), printable(group), b.trace->file, b.nodes.size());
}

using ByRank = std::map<std::uint64_t, const NamedTrace*>;

// Checks the members of a group, as one trace lists them.
std::optional<std::string> find_wrong_members(const std::string& group, const NamedTrace& each,
                                              const ByRank& by_rank) {
  std::set<std::int64_t> members;
  for (const std::int64_t rank : ranks_of_group(each.trace, group)) {
    if (rank < 0 || !by_rank.contains(static_cast<std::uint64_t>(rank))) {
      return fmt::format("{}: group '{}' has rank {}, and the run has {} ranks{}", each.file,
                         printable(group), rank, by_rank.size(), kAgain);
    }
    if (!members.insert(rank).second) {
      return fmt::format("{}: group '{}' has rank {} twice{}", each.file, printable(group), rank,
                         kAgain);
    }
  }
  return std::nullopt;
}

// Checks that the ranks that call a group's collectives are its members, and that they agree on the
// collectives and on the members.
std::optional<std::string> find_fault_of_group(const std::string& group,
                                               const std::map<std::uint64_t, CallsOf>& callers,
                                               const ByRank& by_rank) {
  const CallsOf& first = callers.begin()->second;
  const std::vector<std::int64_t> members = ranks_of_group(first.trace->trace, group);
  if (auto wrong = find_wrong_members(group, *first.trace, by_rank)) return wrong;
  for (const auto& [rank, calls] : callers) {
    if (auto fault = find_disagreement(group, first, calls)) return fault;
    if (ranks_of_group(calls.trace->trace, group) != members) {
      return fmt::format(
          "{} and {} list other ranks for group '{}'; give each group a name of its own",
          first.trace->file, calls.trace->file, printable(group));
    }
    const bool is_member =
        std::find(members.begin(), members.end(), static_cast<std::int64_t>(rank)) != members.end();
    if (members.empty() || is_member) continue;
    return fmt::format("{} has collectives of group '{}', which does not list rank {}{}",
                       calls.trace->file, printable(group), rank, kAgain);
  }
  const std::size_t ranks = members.empty() ? by_rank.size() : members.size();
  for (std::size_t i = 0; i < first.nodes.size(); ++i) {
    const auto root = static_cast<std::size_t>(collective_of(first.node(i))->root);
    if (root >= ranks) return first.trace->file + ": " + no_root(first.node(i), ranks);
  }
  for (const std::int64_t member : members) {
    const auto rank = static_cast<std::uint64_t>(member);
    if (callers.contains(rank)) continue;
    return find_disagreement(group, first, {by_rank.at(rank), {}});
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(const Trace& trace) {
  if (auto fault = find_fault_of_metadata(trace)) return fault;
  const NodeIndex index(trace);
  if (const auto id = index.duplicate()) {
    return fmt::format("{} has the id of another node; give each node an id of its own",
                       called(trace.nodes[*index.find(*id)]));
  }
  if (auto fault = find_missing_dependency(trace, index)) return fault;
  for (const Node& node : trace.nodes) {
    if (auto fault = find_fault_of(node, trace)) return fault;
  }
  const Graph graph(trace);
  const std::vector<std::size_t> order = graph.order();
  if (order.size() < trace.nodes.size()) return describe_cycle(trace, graph, order);
  return std::nullopt;
}

std::optional<std::uint64_t> rank_of(const NamedTrace& each) {
  if (const auto rank = each.trace.rank()) return rank;
  std::string_view name = each.file;
  if (!name.ends_with(".et")) return std::nullopt;
  name.remove_suffix(3);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  name.remove_prefix(dot + 1);
  std::uint64_t rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return rank;
}

std::optional<std::string> find_fault_of_set(std::span<const NamedTrace> traces) {
  ByRank by_rank;
  std::uint64_t world = traces.size();
  for (const NamedTrace& each : traces) {
    const auto rank = rank_of(each);
    if (!rank || *rank >= kWorldMax) {
      return each.file + " does not say its rank; name it like trace.0.et";
    }
    const auto [before, is_new] = by_rank.emplace(*rank, &each);
    if (!is_new) {
      return fmt::format("{} and {} are both of rank {}; give each rank one file",
                         before->second->file, each.file, *rank);
    }
    world = std::max({world, *rank + 1, std::min(each.trace.world().value_or(0), kWorldMax)});
  }
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    if (by_rank.contains(rank)) continue;
    return fmt::format("of {} ranks, rank {} has no file; add its file, such as trace.{}.et", world,
                       rank, rank);
  }
  std::map<std::string, std::map<std::uint64_t, CallsOf>> groups;
  for (const auto& [rank, each] : by_rank) {
    for (auto& [group, nodes] : calls_of(each->trace)) {
      groups[group][rank] = {each, std::move(nodes)};
    }
  }
  for (const auto& [group, callers] : groups) {
    if (auto fault = find_fault_of_group(group, callers, by_rank)) return fault;
  }
  return std::nullopt;
}

}  // namespace infold::trace
