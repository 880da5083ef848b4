// SPDX-License-Identifier: Apache-2.0
//
// Scenarios from a seed, as in swarm testing: each run switches on a random subset of troubles,
// each with a random strength. Some runs are gentle, some have only one trouble, and some have all
// at once. After a while the troubles stop, and all calls must finish.
#pragma once

#include <cstdint>

#include "study/sim/scenario/scenario.h"

namespace infold::sim {

Scenario draw_scenario(std::uint64_t seed);

// Draws calls over all types, reductions, collectives and formats, with about `element_budget`
// elements over all ranks together.
std::vector<CallPlan> draw_calls(std::uint16_t world, std::uint64_t element_budget,
                                 base::Prng& prng);

// Replaces all aggregators with pipelines that only add (core::Adder), without racks, and changes
// the calls into ones that such pipelines can sum. Returns false, and changes nothing, if the job
// has too many ranks.
bool only_add(Scenario& scenario);
// Makes these pipelines like a Tofino's: integers of 32 bits, sums and maxima. Every second one,
// and the first, has big-endian elements. Requires: the pipelines only add.
void add_as_chips(Scenario& scenario);

// Turns a call of floats into a compressed mean, by a drawn method. The call may lose some of its
// elements, so that they form a matrix. Requires: it has elements.
void compress(CallPlan& call, base::Prng& prng);

}  // namespace infold::sim
