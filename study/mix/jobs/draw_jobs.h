// SPDX-License-Identifier: Apache-2.0
//
// A list of jobs that is drawn from a seed: models, workers, iterations, and the gaps between
// submissions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/mix/jobs/job_list.h"

namespace infold::mix {

struct DrawOptions {
  std::span<const Model> models = mix::models();  // all are equally likely
  std::uint32_t jobs = 60;
  std::uint64_t seed = 1;
  double mean_gap_s = 0.5;           // between submissions; the first job comes at 0
  std::uint16_t workers_max = 16;    // a job has 2, 4, 8, ... workers; all powers are equally
                                     // likely
  std::uint32_t iterations_max = 8;  // at least 2
};

// Requires: at least one model, workers_max and iterations_max are at least 2, jobs at least 1.
std::vector<JobSpec> draw_jobs(const DrawOptions& options);

}  // namespace infold::mix
