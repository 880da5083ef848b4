// SPDX-License-Identifier: Apache-2.0
//
// Compares means with hand-made outcomes, and times alone with whole runs.
#include "study/mix/run/summary.h"

#include <numeric>

#include <gtest/gtest.h>

namespace infold::mix {
namespace {

TEST(Summary, P95IsAValue) {
  EXPECT_EQ(p95({7}), 7);
  EXPECT_EQ(p95({2, 1}), 2);
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 1.0);
  EXPECT_EQ(p95(hundred), 95);
}

TEST(Summary, MeansOverJobsAndGpus) {
  const std::vector<JobSpec> jobs = {{0, nullptr, 3, 1}, {2, nullptr, 1, 1}};
  MixOutcome outcome;
  outcome.jobs = {{.submitted_s = 0, .started_s = 0, .ended_s = 4, .gpu_s = 3},
                  {.submitted_s = 2, .started_s = 4, .ended_s = 8, .gpu_s = 1}};
  const MixSummary summary = summary_of(outcome, jobs, std::vector<double>{4.0, 3.0});
  EXPECT_DOUBLE_EQ(summary.mean_completion_s, 5);
  EXPECT_DOUBLE_EQ(summary.p95_completion_s, 6);
  EXPECT_DOUBLE_EQ(summary.mean_wait_s, 1);
  EXPECT_DOUBLE_EQ(summary.mean_inflation, 1.5);
  EXPECT_DOUBLE_EQ(summary.p95_inflation, 2);
  EXPECT_DOUBLE_EQ(summary.idle_share, 1 - (3 * 3 + 1 * 1) / (3 * 4 + 1 * 4.0));
}

TEST(Summary, TimesAloneAreThoseOfWholeRuns) {
  MixOptions options;
  options.hosts = {.racks = 2, .hosts_per_rack = 4};
  options.scale = 1'000;
  const std::vector<JobSpec> jobs = {{0, find_model("ResNet-50"), 4, 6},
                                     {0, find_model("AlexNet"), 8, 2},
                                     {0, find_model("ResNet-50"), 4, 1}};
  const auto times = times_alone_s(options, jobs);
  ASSERT_TRUE(times.has_value());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double whole_s = run(options, std::span(&jobs[i], 1)).makespan_s;
    EXPECT_NEAR((*times)[i], whole_s, 0.02 * whole_s) << i;
  }
  EXPECT_EQ(times_alone_s(options, jobs, [](std::size_t) { return false; }), std::nullopt);
}

}  // namespace
}  // namespace infold::mix
