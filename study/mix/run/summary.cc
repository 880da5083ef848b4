// SPDX-License-Identifier: Apache-2.0
//
// Computes means, and runs jobs one at a time.
#include "study/mix/run/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"

namespace infold::mix {
namespace {

// Returns nothing if keep_going() returned false.
std::optional<double> run_alone_s(const MixOptions& options, JobSpec job, std::uint32_t iterations,
                                  const std::function<bool(std::size_t)>& keep_going) {
  job.submit_s = 0;
  job.iterations = iterations;
  const MixOutcome outcome = run(options, std::span(&job, 1), keep_going);
  if (!outcome.is_complete) return std::nullopt;
  return outcome.jobs.front().ended_s;
}

}  // namespace

std::optional<std::vector<double>> times_alone_s(
    const MixOptions& options, std::span<const JobSpec> jobs,
    const std::function<bool(std::size_t jobs_done)>& keep_going) {
  MixOptions alone = options;
  alone.scheduler = SchedulerKind::none;
  alone.shares = 1;
  std::map<std::tuple<const Model*, std::uint16_t, std::uint32_t>, double> known;
  std::vector<double> times;
  for (const JobSpec& job : jobs) {
    std::array<double, 2> ends{};
    for (std::uint32_t iterations : {1U, 2U}) {
      if (iterations > job.iterations) continue;
      const auto [found, is_new] = known.try_emplace({job.model, job.workers, iterations});
      if (is_new) {
        const auto end_s = run_alone_s(alone, job, iterations, [&](std::size_t) {
          return !keep_going || keep_going(times.size());
        });
        if (!end_s) return std::nullopt;
        found->second = *end_s;
      }
      ends[iterations - 1] = found->second;
    }
    times.push_back(ends[0] + (ends[1] - ends[0]) * (job.iterations - 1));
  }
  return times;
}

MixSummary summary_of(const MixOutcome& outcome, std::span<const JobSpec> jobs,
                      std::span<const double> alone_s) {
  CHECK(outcome.is_complete && !outcome.jobs.empty());
  CHECK_THAT(outcome.jobs.size(), ==, jobs.size());
  MixSummary summary;
  std::vector<double> completions;
  std::vector<double> inflations;
  double held_s = 0;
  double worked_s = 0;
  const auto count = static_cast<double>(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const JobOutcome& job = outcome.jobs[i];
    completions.push_back(job.completion_s());
    inflations.push_back(job.completion_s() / alone_s[i]);
    summary.mean_completion_s += completions.back() / count;
    summary.mean_inflation += inflations.back() / count;
    summary.mean_wait_s += (job.started_s - job.submitted_s) / count;
    held_s += jobs[i].workers * (job.ended_s - job.started_s);
    worked_s += jobs[i].workers * job.gpu_s;
  }
  summary.p95_completion_s = p95(completions);
  summary.p95_inflation = p95(inflations);
  summary.idle_share = 1 - worked_s / held_s;
  return summary;
}

double p95(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace infold::mix
