// SPDX-License-Identifier: Apache-2.0
//
// Tells a trace in words, with a numbered line for each step, for people who read a violation.
#pragma once

#include <string>

#include "tests/exhaustive/search.h"

namespace infold::exhaustive {

// Replays the trace that this search found.
std::string narrate(Search& search, const Outcome& outcome);

// One line of figures: states visited, transitions, depth, time.
std::string figures(const Case& model_case, const Outcome& outcome);

}  // namespace infold::exhaustive
