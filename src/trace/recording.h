// SPDX-License-Identifier: Apache-2.0
//
// From the notes of a live run to its trace. A program notes when each collective began and ended,
// when it waited for which ones, and when each step ended. The time between is compute. Pure: it
// reads no clock.
//
// A node of compute depends on the one before it, by program order, and on the collectives that the
// program waited for since. A collective depends on the compute before its call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace infold::trace {

// All times are nanoseconds on one steady clock.
struct RecordedCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string name;
  std::string group;
  std::string data_type;
  std::uint64_t bytes = 0;  // of this rank's input
  int root = 0;
  std::int64_t begin_ns = 0;     // the program made the call
  std::int64_t returned_ns = 0;  // the call gave the program its handle
  std::optional<std::int64_t> end_ns;
};

struct RecordedWait {
  // The numbers of the calls. Empty: the program waited for all earlier calls that it waits for
  // nowhere else, and computed after the last of them. That is the end of a backward pass.
  std::vector<std::size_t> calls;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// An operator of the program's framework, which ran in some compute.
struct RecordedOperator {
  std::string name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct Recording {
  std::uint64_t rank = 0;
  std::uint64_t world = 1;
  std::uint64_t unix_us = 0;  // the time of day at begin_ns
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<std::int64_t> step_ends_ns;
  std::vector<RecordedCall> calls;
  std::vector<RecordedWait> waits;
  std::vector<RecordedOperator> operators;                  // in any order
  std::map<std::string, std::vector<std::int64_t>> groups;  // their ranks, by name
};

// Calls that have not ended are left out. A compute names the operators that took the most time.
Trace trace_of(const Recording& recording);

}  // namespace infold::trace
