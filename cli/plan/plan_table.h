// SPDX-License-Identifier: Apache-2.0
//
// Shows a question of `infold plan`, the placements that answer it, and the advice: as text for
// people, or as one JSON object for each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/line/output.h"
#include "study/predict/placement.h"

namespace infold::cli {

struct FormatNames {
  std::string dtype;
  std::string wire;
};

// The result of `infold plan --verify` for one placement.
struct PlacementMeasured {
  std::optional<double> seconds;  // median of several sums
  double busy = 0;                // the share of all cores that was busy during the sums
  std::string not_measured;       // the reason if it was only predicted
  std::string error;              // the reason if the measurement failed
};

void print_question(Output& output, const predict::Question& question, const FormatNames& names);

// Requires: `placements` come from predict::predict, so they include a ring. `measured` is empty or
// has one entry for each placement.
void print_placements(Output& output, const std::vector<predict::Placement>& placements,
                      const std::vector<PlacementMeasured>& measured);

// Returns sentences that compare the measurements with the predictions. The same sizes are required
// as above.
std::vector<std::string> measured_advice(const std::vector<predict::Placement>& placements,
                                         const std::vector<PlacementMeasured>& measured);

void print_advice(Output& output, const std::vector<std::string>& sentences);

}  // namespace infold::cli
