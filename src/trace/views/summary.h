// SPDX-License-Identifier: Apache-2.0
//
// What a trace says of its run in numbers: time of compute, collectives by kind and bytes, steps
// and the critical path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace infold::trace {

struct CollectiveRow {
  std::string kind;
  std::string group;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  std::uint64_t us = 0;  // sum of all durations; calls may overlap

  friend bool operator==(const CollectiveRow&, const CollectiveRow&) = default;
};

struct StepTime {
  std::uint64_t number = 0;
  std::uint64_t us = 0;

  friend bool operator==(const StepTime&, const StepTime&) = default;
};

struct Summary {
  std::optional<std::uint64_t> rank;
  std::optional<std::uint64_t> world;
  std::string version;
  std::size_t nodes = 0;
  std::size_t compute_nodes = 0;
  std::uint64_t compute_us = 0;
  std::size_t other_nodes = 0;  // neither compute nor collective nor metadata
  std::uint64_t other_us = 0;
  std::vector<CollectiveRow> collectives;  // by kind, then by group
  std::vector<StepTime> steps;
  std::uint64_t span_us = 0;  // from the first begin to the last end
  // The longest chain of dependencies, by the nodes' durations; and the collectives' part of it.
  std::uint64_t critical_us = 0;
  std::uint64_t critical_collective_us = 0;
};

// A trace with faults has numbers, too. Dependencies on nodes that are not there do not count, and
// the critical path leaves out nodes behind a cycle.
Summary summary_of(const Trace& trace);

// The duration of a node that takes time. Nodes of metadata take none.
std::uint64_t weight_of(const Node& node);

}  // namespace infold::trace
