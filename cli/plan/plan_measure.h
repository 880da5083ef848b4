// SPDX-License-Identifier: Apache-2.0
//
// What `infold plan --verify` measures: the question's workers, hosts and links as a lab on this
// machine, and each placement that such a lab can have. Says in a sentence what it does not
// measure, rather than give a number that is about this machine. The functions are pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/plan_table.h"
#include "lab/compare/lab.h"
#include "lab/compare/launch.h"
#include "predict/placement.h"

namespace infold::cli {

// The frames of shaped links: an Ethernet header and nothing else.
inline constexpr std::uint32_t kShapedFrameBytes = 14;

struct LabMachine {
  unsigned cores = 1;
  std::uint64_t memory_bytes = 0;  // that can be had
  bool is_root = false;
  bool has_gloo = false;  // as a ring to measure
};
LabMachine this_lab_machine(const lab::Places& places);

// Why nothing of this can be measured here; empty if it can.
struct Refusal {
  std::string text;
  bool bad_usage = false;  // whatever the machine
};
std::optional<Refusal> refuse_to_measure(const predict::Question& question,
                                         const FormatNames& names,
                                         const std::vector<predict::Placement>& placements,
                                         const LabMachine& machine);

// A host for each worker, then one for each of the question's hosts. Requires: equal workers.
lab::LabLinks lab_links(const predict::Question& question);

// Where a placement's sums are made in that lab, or why it is predicted only. A ring has no places.
struct PlacementPlan {
  std::optional<lab::SumPlaces> places;
  bool is_ring = false;
  std::string not_measured;
};
PlacementPlan plan_measurement(const predict::Question& question, const FormatNames& names,
                               const predict::Placement& placement, const LabMachine& machine);

// How often a sum that should take so long is measured.
unsigned measured_iterations(double predicted_s);

// Measures what can be, in the placements' order; the rest has its reason. `begin` is told before
// each. Stops after a failure to see whether the user wants that. Throws std::runtime_error where
// no lab can be had.
std::vector<PlacementMeasured> measure_placements(
    const predict::Question& question, const FormatNames& names,
    const std::vector<predict::Placement>& placements, const lab::Places& places,
    const std::function<void(const predict::Placement& placement, unsigned iterations)>& begin);

}  // namespace infold::cli
