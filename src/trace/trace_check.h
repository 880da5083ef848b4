// SPDX-License-Identifier: Apache-2.0
//
// Finds faults that make a trace useless, in one rank's trace or in the set of files of a run. Each
// fault is a text that names the place and the remedy.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "trace/trace.h"

namespace infold::trace {

// Finds duplicate ids, dependencies on nodes that do not exist, cycles, and times that do not fit
// in 64 bits. Also finds collectives without a kind or size, or with an impossible size, type or
// root, and a world that has no ranks or lacks this rank.
std::optional<std::string> find_fault(const Trace& trace);

struct NamedTrace {
  std::string file;
  Trace trace;
};

// Returns the rank from the metadata, or else from a file name such as trace.3.et.
std::optional<std::uint64_t> rank_of(const NamedTrace& each);

// Finds faults in the set of a run's files: ranks that occur twice or not at all, and two ranks
// that disagree about the collectives or the members of a group. Requires: no single trace has a
// fault.
std::optional<std::string> find_fault_of_set(std::span<const NamedTrace> traces);

}  // namespace infold::trace
