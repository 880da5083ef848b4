// SPDX-License-Identifier: Apache-2.0
//
// How `infold plan` shows a question, the placements that answer it, and what follows from them:
// as text for people, or one JSON object for the question, for each placement and for the verdict.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "plan/placement.h"

namespace infold::cli {

struct FormatNames {
  std::string dtype;
  std::string wire;
};

void print_question(Output& output, const plan::Question& question, const FormatNames& names);

// Requires: `placements` as plan::predict gave them, hence with a ring among them.
void print_placements(Output& output, const std::vector<plan::Placement>& placements);

void print_verdict(Output& output, const std::vector<std::string>& sentences);

}  // namespace infold::cli
