// SPDX-License-Identifier: Apache-2.0
//
// The pictures of predictions, as SVG. Pure.
#pragma once

#include <span>
#include <string>

#include "cli/whatif/whatif_table.h"

namespace infold::cli {

// The time lines of one step, a panel for each place and a row for each rank.
std::string draw_steps(std::span<const Answer> answers);

// The time of a step against what is swept, a curve for each place.
std::string draw_sweep(const std::string& swept, std::span<const Answer> answers);

}  // namespace infold::cli
