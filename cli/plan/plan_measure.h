// SPDX-License-Identifier: Apache-2.0
//
// The measurement behind `infold plan --verify`. It builds the question's workers, hosts and links
// as a lab on this machine, and measures each placement that such a lab can have. If a result would
// say more about this machine than about the question, it measures nothing and returns a sentence
// with the reason. All functions but this_lab_machine and measure_placements are pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/plan_table.h"
#include "study/measure/compare/lab.h"
#include "study/measure/compare/launch.h"
#include "study/predict/placement.h"

namespace infold::cli {

// Frames on shaped links have an Ethernet header and no other overhead.
inline constexpr std::uint32_t kShapedFrameBytes = 14;

struct LabMachine {
  unsigned cores = 1;
  std::uint64_t memory_bytes = 0;  // what one process can get
  bool is_root = false;
  bool has_gloo = false;  // Gloo's program exists, so the ring can be measured
};
LabMachine this_lab_machine(const measure::Places& places);

// Why the question cannot be measured here.
struct Refusal {
  std::string text;
  bool bad_usage = false;  // true: no machine could measure it
};
std::optional<Refusal> refuse_to_measure(const predict::Question& question,
                                         const FormatNames& names,
                                         const std::vector<predict::Placement>& placements,
                                         const LabMachine& machine);

// Returns the links: first one host per worker, then the hosts of the question. Requires: all
// workers have the same rate.
measure::LabLinks lab_links(const predict::Question& question);

// Where the placement's sums are made in that lab, or why the placement is only predicted. A ring
// has no such places.
struct PlacementPlan {
  std::optional<measure::SumPlaces> places;
  bool is_ring = false;
  std::string not_measured;
};
PlacementPlan plan_measurement(const predict::Question& question, const FormatNames& names,
                               const predict::Placement& placement, const LabMachine& machine);

// Returns how often to measure a sum with this predicted time.
unsigned measured_iterations(double predicted_s);

// Measures all placements that can be measured, in their order; the others get a reason. `begin` is
// called before each measurement. A measurement that fails gets its error, and the next one begins.
// After an interrupt (Ctrl-C) the list ends early, and the caller says that it was stopped. Throws
// std::runtime_error if the lab cannot be built.
std::vector<PlacementMeasured> measure_placements(
    const predict::Question& question, const FormatNames& names,
    const std::vector<predict::Placement>& placements, const measure::Places& places,
    const std::function<void(const predict::Placement& placement, unsigned iterations)>& begin);

}  // namespace infold::cli
