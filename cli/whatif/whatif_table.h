// SPDX-License-Identifier: Apache-2.0
//
// What infold whatif prints: tables of predictions, objects, and a sentence of advice.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/line/output.h"
#include "cli/whatif/whatif_options.h"
#include "whatif/prediction.h"

namespace infold::cli {

struct Answer {
  NamedSetting place;
  std::string value;         // of what is swept; empty: nothing
  std::size_t question = 0;  // its number in the sweep
  whatif::Prediction prediction;
};

// What the traces themselves say.
struct Recorded {
  std::uint64_t ranks = 0;
  std::size_t traces = 0;
  std::size_t steps = 0;
  whatif::Split split;
};
Recorded recorded_of(const whatif::RecordedRun& run);

void print_run(Output& output, const Recorded& run, const WhatIfOptions& options,
               const whatif::Setting& first, std::optional<double> interference);
void print_object(Output& output, const Answer& answer);
// A row for each place, and a sentence that compares them.
void print_places(Output& output, const Recorded& run, std::span<const Answer> answers);
// A row for each value, with a column for each place.
void print_sweep(Output& output, const std::string& swept, std::span<const Answer> answers);

// Whether a switch helps, in sentences. Empty if the places do not show it.
std::vector<std::string> advice(std::span<const Answer> answers);

}  // namespace infold::cli
