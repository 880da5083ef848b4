// SPDX-License-Identifier: Apache-2.0
//
// Prints runs of job mixes: for people a table with a row for each scheduler, for programs an
// object for each job and each scheduler.
#pragma once

#include <span>
#include <vector>

#include "cli/line/output.h"
#include "study/mix/run/summary.h"

namespace infold::cli {

struct MixRow {
  mix::SchedulerKind scheduler = mix::SchedulerKind::none;
  mix::MixOutcome outcome;
  mix::MixSummary summary;
  double took_s = 0;
};

nlohmann::ordered_json job_json(std::size_t index, const mix::JobSpec& job);
void print_objects(Output& output, const MixRow& row, std::span<const mix::JobSpec> jobs,
                   std::span<const double> alone_s);
void print_table(Output& output, const mix::MixOptions& options, std::span<const MixRow> rows,
                 std::size_t jobs);

}  // namespace infold::cli
