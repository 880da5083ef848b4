// SPDX-License-Identifier: Apache-2.0
//
// The trace of one rank's training steps, as MLCommons Chakra defines it: nodes of compute and
// communication, and their dependencies. A trace is plain data. trace_file.h reads and writes it,
// trace_check.h finds its faults, and feeder.h hands out its nodes in an order that the
// dependencies allow. A program that replays traces needs only these headers.
//
// Parts that infold does not interpret stay encoded, so that they survive when a file is read and
// written again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/plain_text.h"

namespace infold::trace {

// The numbers are Chakra's. A node may have a number that is not listed; readers pass it on.
enum class NodeType : int {
  invalid = 0,
  metadata = 1,
  memory_load = 2,
  memory_store = 3,
  compute = 4,
  send = 5,
  receive = 6,
  collective = 7,
  storage = 8,
  batch = 9,
  checkpoint = 10,
};

enum class CollectiveKind : int {
  all_reduce = 0,
  reduce = 1,
  all_gather = 2,
  gather = 3,
  scatter = 4,
  broadcast = 5,
  all_to_all = 6,
  reduce_scatter = 7,
  reduce_scatter_block = 8,
  barrier = 9,
};
inline constexpr int kCollectiveKinds = 10;

const char* node_type_name(NodeType type);
const char* collective_name(CollectiveKind kind);

struct Attribute {
  // The types that infold interprets. monostate stands for any other type.
  using Value = std::variant<std::monostate, bool, std::int32_t, std::int64_t, std::uint64_t,
                             double, std::string, std::vector<std::int64_t>>;

  std::string name;
  Value value;
  std::string encoded;  // the whole message

  friend bool operator==(const Attribute& a, const Attribute& b) { return a.encoded == b.encoded; }
};
using Attributes = std::vector<Attribute>;

// Makes text from a file safe to print.
using base::printable;

// Requires: a value that is not monostate.
Attribute make_attribute(std::string_view name, Attribute::Value value);

const Attribute* find(const Attributes& attributes, std::string_view name);
// Returns the value if it exists, has an integer type and is not negative.
std::optional<std::uint64_t> whole(const Attributes& attributes, std::string_view name);
// Returns the value if it exists and is text.
std::optional<std::string> text(const Attributes& attributes, std::string_view name);

struct Values {
  std::string values;
  std::string shapes;
  std::string types;
  std::string other;  // encoded fields that infold does not know

  friend bool operator==(const Values&, const Values&) = default;
};

struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::invalid;
  std::vector<std::uint64_t> control_deps;  // ids of nodes that must end first
  std::vector<std::uint64_t> data_deps;     // the same, because this node uses their results
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  std::optional<Values> inputs;
  std::optional<Values> outputs;
  Attributes attributes;
  std::string other;  // encoded fields that infold does not know

  friend bool operator==(const Node&, const Node&) = default;
};

struct Trace {
  std::string version;
  Attributes attributes;
  std::string other;  // encoded fields that infold does not know
  std::vector<Node> nodes;

  std::optional<std::uint64_t> rank() const { return whole(attributes, "rank"); }
  std::optional<std::uint64_t> world() const { return whole(attributes, "world"); }

  friend bool operator==(const Trace&, const Trace&) = default;
};

// The part of a collective's node that infold reads.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::uint64_t bytes = 0;  // bytes of this rank's input
  std::string group;        // empty: the only group
  std::string data_type;    // as data_type_name() spells it; empty if the trace does not say
  int root = 0;

  friend bool operator==(const Collective&, const Collective&) = default;
};

// Returns nothing if the node is not a collective, or its kind is missing or unknown. A missing
// size counts as 0.
std::optional<Collective> collective_of(const Node& node);

// Returns the ranks of a group in the group's order, as the metadata lists them, or nothing if it
// does not list the group.
std::vector<std::int64_t> ranks_of_group(const Trace& trace, std::string_view group);

// Returns the number of the step that a node belongs to, if the trace says so.
std::optional<std::uint64_t> step_of(const Node& node);

// Returns whether this is the metadata node that ends a step.
bool ends_step(const Node& node);

// Says which steps count: the steps that nodes name and that the trace ends. If the trace ends no
// step, all named steps count. If no node names a step, the whole trace is step 0.
class CountedSteps {
 public:
  explicit CountedSteps(const Trace& trace);
  // Returns the step that a node counts for, if any.
  std::optional<std::uint64_t> of(const Node& node) const;

 private:
  std::set<std::uint64_t> numbers_;  // empty: no node has a step
};

}  // namespace infold::trace
