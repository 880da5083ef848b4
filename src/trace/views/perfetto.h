// SPDX-License-Identifier: Apache-2.0
//
// Writes traces as JSON that Perfetto (ui.perfetto.dev) and Chrome show as a timeline. Each rank is
// a process with rows for steps, compute, collectives and the rest. Nodes that overlap get separate
// rows. An arrow leads from each collective to each node that needs its result.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/trace_check.h"

namespace infold::trace {

// Requires: no trace has a fault. A trace without a rank takes its index in the list as the rank.
std::string perfetto_of(std::span<const NamedTrace> traces);

// A process with its own name.
struct Timeline {
  std::uint64_t process = 0;
  std::string name;
  const Trace* trace = nullptr;
};
// Requires: no trace has a fault.
std::string perfetto_of(std::span<const Timeline> timelines);

}  // namespace infold::trace
