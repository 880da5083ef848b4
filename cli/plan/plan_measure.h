// SPDX-License-Identifier: Apache-2.0
//
// The measurement of `infold plan --verify`. It makes the question's workers, hosts and links as a
// lab on this machine, and measures each placement that such a lab can have. If a number would
// describe this machine and not the question, it gives the reason in a sentence instead. The
// functions are pure.
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

// Frames on shaped links have an Ethernet header and nothing else.
inline constexpr std::uint32_t kShapedFrameBytes = 14;

struct LabMachine {
  unsigned cores = 1;
  std::uint64_t memory_bytes = 0;  // memory that a process can get
  bool is_root = false;
  bool has_gloo = false;  // Gloo's program exists and measures the ring
};
LabMachine this_lab_machine(const lab::Places& places);

// Returns the reason why the question cannot be measured here, or nothing.
struct Refusal {
  std::string text;
  bool bad_usage = false;  // true: no machine could measure it
};
std::optional<Refusal> refuse_to_measure(const predict::Question& question,
                                         const FormatNames& names,
                                         const std::vector<predict::Placement>& placements,
                                         const LabMachine& machine);

// Returns links for one host per worker, then one per host of the question. Requires: all workers'
// rates are equal.
lab::LabLinks lab_links(const predict::Question& question);

// The places of a placement's sums in that lab, or the reason why it is predicted only. A ring has
// no places.
struct PlacementPlan {
  std::optional<lab::SumPlaces> places;
  bool is_ring = false;
  std::string not_measured;
};
PlacementPlan plan_measurement(const predict::Question& question, const FormatNames& names,
                               const predict::Placement& placement, const LabMachine& machine);

// Returns how often a sum of this predicted time is measured.
unsigned measured_iterations(double predicted_s);

// Measures all possible placements, in their order. The others have a reason. `begin` is called
// before each. After a failure it stops if the user wants that. Throws std::runtime_error if there
// can be no lab.
std::vector<PlacementMeasured> measure_placements(
    const predict::Question& question, const FormatNames& names,
    const std::vector<predict::Placement>& placements, const lab::Places& places,
    const std::function<void(const predict::Placement& placement, unsigned iterations)>& begin);

}  // namespace infold::cli
