// SPDX-License-Identifier: Apache-2.0
//
// Everything that infold whatif prints: tables of predictions, objects, and a sentence of advice.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/line/output.h"
#include "cli/whatif/whatif_options.h"
#include "study/whatif/steps_elsewhere.h"

namespace infold::cli {

// The shortest and the longest step over several seeds.
struct Spread {
  double least_us = 0;
  double most_us = 0;
};

struct Answer {
  NamedSetting place;
  std::string value;         // the swept value; empty: nothing is swept
  std::size_t question = 0;  // the number of the swept value
  whatif::Prediction prediction;
  std::optional<Spread> spread = {};  // set if the seed matters
};

// The place's name, marked with a star if nobody has compared such predictions with measured steps.
std::string marked_name(const NamedSetting& place);
// Returns the star's meaning, or an empty text if no place has a star.
std::string star_note(std::span<const Answer> answers);

// The facts that the traces themselves record.
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
// Prints a row for each place, and a sentence that compares them.
void print_places(Output& output, const Recorded& run, std::span<const Answer> answers);
// Prints a row for each value, with a column for each place.
void print_sweep(Output& output, const std::string& swept, std::span<const Answer> answers);

// Returns sentences that say whether a switch helps, or nothing if the places do not show it.
std::vector<std::string> advice(std::span<const Answer> answers);

}  // namespace infold::cli
