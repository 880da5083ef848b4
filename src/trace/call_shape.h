// SPDX-License-Identifier: Apache-2.0
//
// The call that replays a trace's collective: its kind, and the type and sizes of its tensors. Also
// says why infold cannot replay a trace. All functions are pure.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infold/vocabulary.h>

#include "trace/trace.h"

namespace infold::trace {

// Sizes are in elements.
struct CallShape {
  CollectiveKind kind = CollectiveKind::all_reduce;
  DataType type = DataType::f32;
  std::size_t input = 0;
  std::size_t output = 0;  // 0: the call works in place
  int root = 0;

  friend auto operator<=>(const CallShape&, const CallShape&) = default;
};

// Returns the type whose data_type_name() this is.
std::optional<DataType> type_named(std::string_view name);

// Treats the bytes as one-byte elements if they are not a multiple of the type's size.
CallShape shape_of(const Collective& collective, int world);

// Returns average for floats and max for integers, so that values stay small over any number of
// steps.
Reduction reduction_of(DataType type);

// The largest input of one call in bytes, and the largest output.
inline constexpr std::uint64_t kReplayedBytesMax = std::uint64_t{1} << 32;

// One day. A longer duration must be a slip of the writer's clock.
inline constexpr std::uint64_t kReplayedUsMax = 86'400'000'000;

// Maps each group to the nodes of its collectives, in the order of their ids. All ranks make the
// calls in this order.
using GroupCalls = std::map<std::string, std::vector<std::size_t>>;
GroupCalls calls_of(const Trace& trace);

// Returns the groups of the trace's collectives, sorted.
std::vector<std::string> groups_of(const Trace& trace);

// Returns why this trace cannot be replayed in groups of these sizes, or nothing if it can.
// Requires: a trace without faults.
std::optional<std::string> find_unplayable(
    const Trace& trace, const std::function<int(const std::string& group)>& world_of);

}  // namespace infold::trace
