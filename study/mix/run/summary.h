// SPDX-License-Identifier: Apache-2.0
//
// Figures for a whole run, and the times that its jobs would take alone, for comparison.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "study/mix/run/mix.h"

namespace infold::mix {

// Returns the time of each job on a cluster without other jobs, unscheduled, with all slots. It
// simulates one and two iterations for each model and number of workers, and assumes that further
// iterations take as long as the second one. Returns nothing if keep_going() returned false.
std::optional<std::vector<double>> times_alone_s(
    const MixOptions& options, std::span<const JobSpec> jobs,
    const std::function<bool(std::size_t jobs_done)>& keep_going = {});

struct MixSummary {
  double mean_completion_s = 0;  // from submission to end
  double p95_completion_s = 0;
  double mean_wait_s = 0;     // from submission to start
  double mean_inflation = 0;  // completion time divided by the time alone
  double p95_inflation = 0;
  double idle_share = 0;  // share of the time during which jobs hold their GPUs
};

// Requires: the outcome is complete and has a job.
MixSummary summary_of(const MixOutcome& outcome, std::span<const JobSpec> jobs,
                      std::span<const double> alone_s);

// Returns the smallest value that at least 95 % of the values do not exceed. Requires: not empty.
double p95(std::vector<double> values);

}  // namespace infold::mix
