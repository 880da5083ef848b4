// SPDX-License-Identifier: Apache-2.0
//
// A comparison for people and programs: a table, JSON with every sample, and pictures. Pure.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lab/compare/compare.h"

namespace infold::cli {

struct Comparison {
  lab::Conditions conditions;
  std::vector<lab::Sample> samples;
  std::string command;  // the command line
  std::string machine;  // processor, cores, kernel
  std::string started;  // date and time, UTC
  // The machine's load in the minute before; a load above 0.5 disturbs figures.
  double load_before = 0;
  bool complete = false;  // false: stopped before all rounds were done
};

// "100mbit links, MTU 1500, 1 % loss", or "all on one host"
std::string describe(const lab::Conditions& conditions);

// For each world and size a row per implementation. Its last column but one is the time as a
// multiple of the first row's.
std::string comparison_table(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);
nlohmann::ordered_json summary_json(const lab::Summary& summary);

// The picture of time against size in one world, both by decades. Dotted lines show the bounds that
// the links set.
std::string draw_times(const Comparison& comparison, std::uint64_t world);
// The picture of goodput of the largest size against the number of workers. Requires: two worlds or
// more.
std::string draw_goodput(const Comparison& comparison);

}  // namespace infold::cli
