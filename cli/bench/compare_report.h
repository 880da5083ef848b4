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
  std::string command;     // as it was typed
  std::string machine;     // processor, cores, kernel
  std::string started;     // date and time, UTC
  double load_before = 0;  // of the machine, over the minute before; more than a little spoils it
  bool complete = false;   // false: stopped before all rounds were done
};

// "100mbit links, MTU 1500, 1 % loss", or "all on one host"
std::string describe(const lab::Conditions& conditions);

// For each world and size a row per implementation, with its time as a multiple of the first's.
std::string comparison_table(const Comparison& comparison);
nlohmann::ordered_json comparison_json(const Comparison& comparison);
nlohmann::ordered_json summary_json(const lab::Summary& summary);

// Time against size in one world, both by decades, with what the links allow as lines of dots.
std::string draw_times(const Comparison& comparison, std::uint64_t world);
// Goodput of the largest size against the number of workers. Requires: two worlds or more.
std::string draw_goodput(const Comparison& comparison);

}  // namespace infold::cli
