// SPDX-License-Identifier: Apache-2.0
//
// Traces as JSON that Perfetto (ui.perfetto.dev) and Chrome show as a timeline: a process for each
// rank, with rows for steps, compute, collectives and the rest. Nodes that overlap get rows of
// their own. An arrow leads from each collective to each node that needs its result.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/trace_check.h"

namespace infold::trace {

// Requires: no fault in any trace. A trace without a rank takes its number in the list.
std::string perfetto_of(std::span<const NamedTrace> traces);

// A process with a name of its own.
struct Timeline {
  std::uint64_t process = 0;
  std::string name;
  const Trace* trace = nullptr;
};
// Requires: no fault in any trace.
std::string perfetto_of(std::span<const Timeline> timelines);

}  // namespace infold::trace
