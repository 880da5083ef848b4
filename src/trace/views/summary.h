// SPDX-License-Identifier: Apache-2.0
//
// Sums up a trace's run in numbers: compute time, collectives by kind and bytes, steps and the
// critical path.
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
  // The duration of the longest chain of dependencies, and the part of it in collectives.
  std::uint64_t critical_us = 0;
  std::uint64_t critical_collective_us = 0;
};

// Works for a trace with faults as well. It ignores dependencies on nodes that do not exist, and
// the critical path leaves out nodes that depend on a cycle.
Summary summary_of(const Trace& trace);

// Returns the duration of a node, or 0 for a metadata node, which takes no time.
std::uint64_t weight_of(const Node& node);

}  // namespace infold::trace
