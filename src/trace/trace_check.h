// SPDX-License-Identifier: Apache-2.0
//
// What makes a trace useless: for one rank, and for the set of files of a run. Each fault is one
// text that names the place and the remedy.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "trace/trace.h"

namespace infold::trace {

// Ids twice, dependencies on nodes that are not there, cycles, and times that do not fit in 64
// bits. Collectives without kind or size, or with a size, a type or a root that cannot be. A world
// without ranks, or without this one.
std::optional<std::string> find_fault(const Trace& trace);

struct NamedTrace {
  std::string file;
  Trace trace;
};

// The rank of the metadata, else of a name such as trace.3.et.
std::optional<std::uint64_t> rank_of(const NamedTrace& each);

// Of the files of one run: ranks that are there twice or not at all, and collectives or members of
// a group on which two ranks do not agree. Requires: no fault in any trace alone.
std::optional<std::string> find_fault_of_set(std::span<const NamedTrace> traces);

}  // namespace infold::trace
