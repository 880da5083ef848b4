// SPDX-License-Identifier: Apache-2.0
//
// How much longer computes take while calls move, because both use the processor and the memory.
// One number for a run: a compute's speed is 1 / (1 + interference) while a call of its rank moves.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::whatif {

// The computes of a step, and the part of them beside which a call moves.
struct ComputeTime {
  double all_us = 0;
  double beside_calls_us = 0;
};
// Of each step; of a trace without steps, of the whole.
std::vector<ComputeTime> compute_times(const trace::Trace& trace);

// From a run whose computes have no calls beside them (one rank alone, or calls that are waited
// for at once), and one with calls beside them. Medians of their steps count. The error says why
// these are not two such runs of one program.
tl::expected<double, std::string> fit_interference(const trace::Trace& apart,
                                                   const trace::Trace& beside);

// What each compute would take with no call beside it; of other nodes the duration.
std::vector<double> works_us(const trace::Trace& trace, double interference);

}  // namespace infold::whatif
