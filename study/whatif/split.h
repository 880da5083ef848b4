// SPDX-License-Identifier: Apache-2.0
//
// How each rank's time is spent: on computing, on communication that no compute hides, and on
// waiting for other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace infold::whatif {

enum class Doing : std::uint8_t {
  computes,
  communicates,  // no compute runs, and a call that all ranks have made is under way
  waits,         // neither: other ranks have not made the call yet
};

struct Segment {
  Doing doing = Doing::computes;
  std::uint64_t from_us = 0;
  std::uint64_t to_us = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

struct Step {
  std::uint64_t number = 0;
  std::vector<Segment> segments;  // consecutive, without gaps

  std::uint64_t from_us() const { return segments.front().from_us; }
  std::uint64_t to_us() const { return segments.back().to_us; }
  std::uint64_t us() const { return to_us() - from_us(); }
  std::uint64_t us(Doing doing) const;
};

// Returns those steps of each rank that count (trace::CountedSteps). A trace without steps is one
// step. Steps that take no time are left out. Requires: all ranks agree on their calls.
std::vector<std::vector<Step>> steps_of(std::span<const trace::Trace* const> traces);

// Microseconds of a step; the parts add up to it.
struct Split {
  double step_us = 0;
  double compute_us = 0;
  double exposed_us = 0;
  double waiting_us = 0;
};

// Takes each rank's step of median length, and returns the mean over the ranks.
Split split_of(std::span<const std::vector<Step>> ranks);

}  // namespace infold::whatif
