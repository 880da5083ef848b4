// SPDX-License-Identifier: Apache-2.0
//
// Draws one job after another.
#include "study/mix/jobs/draw_jobs.h"

#include <bit>

#include "base/check.h"
#include "base/prng.h"

namespace infold::mix {
namespace {

// The sum of two uniform numbers is squared, which spreads gaps as widely as in bursts of arrivals.
// It needs no logarithm, whose last bits differ between machines. The mean of the square is 7/6.
double draw_gap_s(base::Prng& prng, double mean_s) {
  const double sum = prng.uniform() + prng.uniform();
  return mean_s * sum * sum * 6 / 7;
}

}  // namespace

std::vector<JobSpec> draw_jobs(const DrawOptions& options) {
  CHECK(!options.models.empty());
  CHECK_THAT(options.workers_max, >=, 2);
  CHECK_THAT(options.iterations_max, >=, 2U);
  base::Prng prng(base::mix64(options.seed));
  const auto powers = static_cast<std::uint64_t>(std::bit_width(options.workers_max)) - 1;
  std::vector<JobSpec> jobs;
  double now_s = 0;
  for (std::uint32_t i = 0; i < options.jobs; ++i) {
    JobSpec& job = jobs.emplace_back();
    job.submit_s = now_s;
    job.model = &options.models[prng.below(options.models.size())];
    job.workers = static_cast<std::uint16_t>(1U << (1 + prng.below(powers)));
    job.iterations = static_cast<std::uint32_t>(prng.between(2, options.iterations_max));
    now_s += draw_gap_s(prng, options.mean_gap_s);
  }
  return jobs;
}

}  // namespace infold::mix
