// SPDX-License-Identifier: Apache-2.0
//
// Means, and runs of one job at a time.
#include "mix/run/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/check.h"

namespace infold::mix {
namespace {

struct AloneTimes {
  double first_s = 0;
  double more_s = 0;  // each iteration after the first
};

constexpr std::uint32_t kIterationsSimulated = 3;

}  // namespace

std::optional<std::vector<double>> times_alone_s(
    const MixOptions& options, std::span<const JobSpec> jobs,
    const std::function<bool(std::size_t jobs_done)>& keep_going) {
  MixOptions alone = options;
  alone.policy = Policy::none;
  alone.shares = 1;
  std::map<std::pair<const Model*, std::uint16_t>, AloneTimes> known;
  std::vector<double> times;
  for (const JobSpec& job : jobs) {
    const auto [found, is_new] = known.try_emplace({job.model, job.workers});
    AloneTimes& of = found->second;
    if (is_new) {
      std::vector<double> ends;
      for (const std::uint32_t iterations : {1U, kIterationsSimulated}) {
        const JobSpec one = {0, job.model, job.workers, iterations};
        const MixOutcome outcome = run(alone, std::span(&one, 1), [&](std::size_t) {
          return !keep_going || keep_going(times.size());
        });
        if (!outcome.is_complete) return std::nullopt;
        ends.push_back(outcome.jobs.front().ended_s);
      }
      of = {ends[0], (ends[1] - ends[0]) / (kIterationsSimulated - 1)};
    }
    times.push_back(of.first_s + of.more_s * (job.iterations - 1));
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
