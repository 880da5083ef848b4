// SPDX-License-Identifier: Apache-2.0
//
// Turns the notes of a live run into its trace. A program notes when each collective began and
// ended, when it waited for which ones, and when each step ended. The time between is compute. This
// code is pure and reads no clock.
//
// A compute node depends on the compute before it, because of program order, and on the collectives
// that the program has waited for since. A collective depends on the compute before its call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace infold::trace {

// All times are in nanoseconds on the same steady clock.
struct RecordedCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string name;
  std::string group;
  std::string data_type;
  std::uint64_t bytes = 0;  // bytes of this rank's input
  int root = 0;
  std::int64_t begin_ns = 0;     // when the program made the call
  std::int64_t returned_ns = 0;  // when the call returned its handle
  std::optional<std::int64_t> end_ns;
};

struct RecordedWait {
  // The indices of the calls. Empty: the program waited for all earlier calls that have no wait of
  // their own, as at the end of a backward pass. It computes again after the last of them.
  std::vector<std::size_t> calls;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

// An operator of the program's framework that ran during some compute.
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
  std::map<std::string, std::vector<std::int64_t>> groups;  // ranks of each group, by name
};

// Leaves out calls that have not ended. Each compute names the operators that took the most time.
Trace trace_of(const Recording& recording);

}  // namespace infold::trace
