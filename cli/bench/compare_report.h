// SPDX-License-Identifier: Apache-2.0
//
// Presents a comparison to people and programs: as a table, as JSON with every sample, and as
// pictures. The functions are pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/measure/compare/compare.h"

namespace infold::cli {

struct Comparison {
  measure::Conditions conditions;
  std::vector<measure::Sample> samples;
  std::string command;  // the command line that made it
  std::string machine;  // processor, cores, kernel
  std::string started;  // date and time, UTC
  // The machine's load in the minute before the start. A load above 0.5 makes the figures
  // unreliable.
  double load_before = 0;
  bool complete = false;  // false: stopped before all rounds were done
};

// Returns "100mbit links, MTU 1500, 1 % loss", or "all on one host".
std::string describe(const measure::Conditions& conditions);

// Prints a row per implementation for each world and size. The last column but one shows the time
// as a multiple of the first row's time.
std::string comparison_table(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);
nlohmann::ordered_json summary_json(const measure::Summary& summary);

// Draws time against size for one world, with logarithmic axes. Dotted lines show the bounds that
// the links set.
std::string draw_times(const Comparison& comparison, std::uint64_t world);
// Draws the goodput at the largest size against the number of workers. Requires: at least two
// worlds.
std::string draw_goodput(const Comparison& comparison);

}  // namespace infold::cli
