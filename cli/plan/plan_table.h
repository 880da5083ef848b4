// SPDX-License-Identifier: Apache-2.0
//
// How `infold plan` shows a question, the placements that answer it, and what follows from them:
// as text for people, or one JSON object for the question, for each placement and for the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/line/output.h"
#include "predict/placement.h"

namespace infold::cli {

struct FormatNames {
  std::string dtype;
  std::string wire;
};

// Of `infold plan --verify`, one for each placement.
struct PlacementMeasured {
  std::optional<double> seconds;  // median of some sums
  double busy = 0;                // share of all cores, meanwhile
  std::string not_measured;       // why it is predicted only
  std::string error;              // why measuring it failed
};

void print_question(Output& output, const predict::Question& question, const FormatNames& names);

// Requires: `placements` as predict::predict gave them, hence with a ring among them. `measured` is
// empty, or has one entry for each.
void print_placements(Output& output, const std::vector<predict::Placement>& placements,
                      const std::vector<PlacementMeasured>& measured);

// What measuring has shown of the predictions, as sentences. Sizes as above.
std::vector<std::string> measured_verdict(const std::vector<predict::Placement>& placements,
                                          const std::vector<PlacementMeasured>& measured);

void print_verdict(Output& output, const std::vector<std::string>& sentences);

}  // namespace infold::cli
