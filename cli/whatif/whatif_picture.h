// SPDX-License-Identifier: Apache-2.0
//
// Draws predictions as SVG. The functions are pure.
#pragma once

#include <span>
#include <string>

#include "cli/whatif/whatif_table.h"

namespace infold::cli {

// Draws the timeline of one step, with a panel for each place and a row for each rank.
std::string draw_steps(std::span<const Answer> answers);

// Draws the time of a step against the swept value, with a curve for each place.
std::string draw_sweep(const std::string& swept, std::span<const Answer> answers);

}  // namespace infold::cli
