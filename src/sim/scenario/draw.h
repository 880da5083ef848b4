// SPDX-License-Identifier: Apache-2.0
//
// Scenarios from a seed, in the manner of swarm testing: each run switches a random subset of
// troubles on, each with a random strength, so that some runs are gentle, some have one trouble
// only, and some have everything at once. After a while the troubles stop and all must finish.
#pragma once

#include <cstdint>

#include "sim/scenario/scenario.h"

namespace infold::sim {

Scenario draw_scenario(std::uint64_t seed);

// Calls over all types, reductions, collectives and formats, of about `element_budget` elements
// over all ranks together.
std::vector<CallPlan> draw_calls(std::uint16_t world, std::uint64_t element_budget,
                                 base::Prng& prng);

}  // namespace infold::sim
