// SPDX-License-Identifier: Apache-2.0
//
// A collective of a trace as the call that replays it: the kind, the type and the sizes of its
// tensors, and the reasons why infold cannot make it. Pure.
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
  std::size_t output = 0;  // 0: the input is replaced
  int root = 0;

  friend auto operator<=>(const CallShape&, const CallShape&) = default;
};

// The type of this name, as data_type_name() has it.
std::optional<DataType> type_named(std::string_view name);

// Bytes that are no multiple of the type's size are elements of one byte.
CallShape shape_of(const Collective& collective, int world);

// Averages of floats stay small in any number of steps, and so does the greatest integer.
Reduction reduction_of(DataType type);

// One input of one call may have so many bytes, and so may its output.
inline constexpr std::uint64_t kReplayedBytesMax = std::uint64_t{1} << 32;

// A day. More is a slip of the writer's clock.
inline constexpr std::uint64_t kReplayedUsMax = 86'400'000'000;

// The nodes of each group's collectives, in the order of ids. All ranks make them in this order.
using GroupCalls = std::map<std::string, std::vector<std::size_t>>;
GroupCalls calls_of(const Trace& trace);

// The groups of the trace's collectives, sorted.
std::vector<std::string> groups_of(const Trace& trace);

// Why this trace cannot be replayed in groups of these sizes, or nothing. Requires: a trace without
// fault.
std::optional<std::string> find_unplayable(
    const Trace& trace, const std::function<int(const std::string& group)>& world_of);

}  // namespace infold::trace
