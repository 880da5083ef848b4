// SPDX-License-Identifier: Apache-2.0
//
// How much longer computes take while calls are under way, because both use the processor and the
// memory. A run has one number for this: while a call of its rank is under way, a compute's speed
// is 1 / (1 + interference).
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::whatif {

// The computes of a step, and the part of them during which a call is under way.
struct ComputeTime {
  double all_us = 0;
  double beside_calls_us = 0;
};
// Returns the times of each step, or of the whole trace if it has no steps.
std::vector<ComputeTime> compute_times(const trace::Trace& trace);

// Compares a run whose computes have no calls beside them (one rank alone, or calls that are waited
// for at once) with a run that has calls beside them. It uses the medians of their steps. An error
// says why these are not two such runs of one program.
tl::expected<double, std::string> fit_interference(const trace::Trace& apart,
                                                   const trace::Trace& beside);

// Returns what each compute would take without a call beside it, and the duration of other nodes.
std::vector<double> works_us(const trace::Trace& trace, double interference);

}  // namespace infold::whatif
