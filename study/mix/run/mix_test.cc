// SPDX-License-Identifier: Apache-2.0
//
// Tests whole runs. It compares the time of one job with arithmetic, and checks how jobs that share
// hosts, links or slots affect each other under each scheduler.
#include "study/mix/run/mix.h"

#include <tuple>

#include <gtest/gtest.h>

#include "study/mix/jobs/draw_jobs.h"
#include "trace/trace_check.h"

namespace infold::mix {
namespace {

constexpr double kRate = 10e9;
constexpr std::uint64_t kPacket = 352;
// A frame has a header, the elements, and what a link adds.
constexpr double kFrameSeconds = (32 + 4 * kPacket + 66) * 8 / kRate;

double sum_s(std::uint64_t elements) {
  return static_cast<double>(elements) / kPacket * kFrameSeconds;
}

// This takes 100 ms of network time and 30 ms of GPU time.
constexpr std::uint64_t kElements = 29'216'000;
constexpr Layer kOneLayer[] = {{kElements, 10e3, 15e3, 5e3}};
constexpr Model kOne = {"one", kOneLayer};
// These models hardly use the GPU. They take 1 s and 2 s of network time.
constexpr Layer kShortSums[] = {{10 * kElements, 1, 1, 1}};
constexpr Model kShort = {"short", kShortSums};
constexpr Layer kLongSums[] = {{20 * kElements, 1, 1, 1}};
constexpr Model kLong = {"long", kLongSums};
// The first layer has a short sum and a long forward pass.
constexpr Layer kLongForward[] = {{kElements / 10, 100e3, 1e3, 1}, {kElements, 1e3, 1e3, 1}};
constexpr Model kFront = {"front", kLongForward};

MixOptions one_rack(std::uint16_t hosts, SchedulerKind scheduler = SchedulerKind::none) {
  MixOptions options;
  options.hosts = {.racks = 1, .hosts_per_rack = hosts};
  options.scheduler = scheduler;
  options.sigma = 0;
  return options;
}

MixOutcome run_well(const MixOptions& options, const std::vector<JobSpec>& jobs) {
  EXPECT_EQ(reason_against(options, jobs), "");
  MixOutcome outcome = run(options, jobs);
  EXPECT_TRUE(outcome.wrong.empty()) << outcome.wrong.front();
  EXPECT_TRUE(outcome.is_complete);
  return outcome;
}

TEST(Mix, OneJobTakesItsComputeAndItsSums) {
  const MixOutcome outcome = run_well(one_rack(4), {{0, &kOne, 4, 1}});
  const double closed_s = 0.030 + sum_s(kElements);
  EXPECT_NEAR(outcome.jobs[0].completion_s(), closed_s, 0.03 * closed_s);
  EXPECT_NEAR(outcome.jobs[0].gpu_s, 0.030, 1e-6);
  EXPECT_NEAR(outcome.host_links_busy * outcome.makespan_s, sum_s(kElements),
              0.01 * sum_s(kElements));
  EXPECT_EQ(outcome.rack_links_busy, 0);
  EXPECT_EQ(outcome.jobs[0].racks, 1);
}

TEST(Mix, AJobOverRacksTakesHardlyLonger) {
  MixOptions options = one_rack(2);
  options.hosts.racks = 4;
  const MixOutcome outcome = run_well(options, {{0, &kOne, 8, 2}});
  const double closed_s = 2 * (0.030 + sum_s(kElements));
  EXPECT_NEAR(outcome.jobs[0].completion_s(), closed_s, 0.04 * closed_s);
  EXPECT_EQ(outcome.jobs[0].racks, 4);
  EXPECT_NEAR(outcome.rack_links_busy, outcome.host_links_busy, 0.01);
}

// Two jobs compete for one pair of hosts, so the second one waits for the first.
TEST(Mix, TracesTheFirstRankOfEachJob) {
  MixOptions options = one_rack(2);
  options.is_traced = true;
  const MixOutcome outcome = run_well(options, {{0, &kOne, 2, 2}, {0, &kOne, 2, 1}});
  const trace::Trace& first = outcome.jobs[0].first_rank;
  EXPECT_EQ(trace::find_fault(first), std::nullopt);
  std::vector<std::string> names;
  for (const trace::Node& node : first.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"forward 1", "backward 1", "sum 1", "update 1",
                                             "forward 1", "backward 1", "sum 1", "update 1"}));
  EXPECT_NEAR(static_cast<double>(first.nodes[1].duration_us), 15e3, 1);
  EXPECT_NEAR(static_cast<double>(first.nodes[2].duration_us) / 1e6, sum_s(kElements),
              0.03 * sum_s(kElements));
  EXPECT_NEAR(static_cast<double>(trace::collective_of(first.nodes[2])->bytes), 4.0 * kElements,
              400);
  EXPECT_EQ(first.nodes[3].data_deps, std::vector<std::uint64_t>{3});
  EXPECT_EQ(trace::step_of(first.nodes[3]), 0U);
  EXPECT_EQ(trace::step_of(first.nodes[4]), 1U);
  const trace::Node& wait = outcome.jobs[1].first_rank.nodes.front();
  EXPECT_EQ(wait.type, trace::NodeType::metadata);
  EXPECT_NEAR(static_cast<double>(wait.duration_us) / 1e6, outcome.jobs[1].started_s, 1e-3);
  options.is_traced = false;
  EXPECT_TRUE(run_well(options, {{0, &kOne, 2, 1}}).jobs[0].first_rank.nodes.empty());
}

TEST(Mix, AJobThatDoesNotFitWaits) {
  const MixOutcome outcome =
      run_well(one_rack(4), {{0, &kOne, 3, 1}, {0, &kOne, 2, 1}, {0.01, &kOne, 1, 1}});
  const auto& [first, second, third] = std::tie(outcome.jobs[0], outcome.jobs[1], outcome.jobs[2]);
  EXPECT_EQ(first.started_s, 0);
  EXPECT_NEAR(second.started_s, first.ended_s, 1e-9);
  EXPECT_NEAR(third.started_s, first.ended_s, 1e-9) << "jobs begin in the order of submission";
}

TEST(Mix, PriorityLetsTheNextForwardPassBeginSooner) {
  const std::vector<JobSpec> jobs = {{0, &kFront, 4, 4}};
  const double none_s = run_well(one_rack(4), jobs).jobs[0].completion_s();
  const double priority_s =
      run_well(one_rack(4, SchedulerKind::priority), jobs).jobs[0].completion_s();
  // Without priority, the forward pass waits for the 100 ms of the second layer's sum, which was
  // ready first. With priority, the two overlap in three of the iterations, except for what was
  // already in flight.
  EXPECT_LT(priority_s, none_s - 3 * 0.7 * sum_s(kElements));
  EXPECT_GT(priority_s, none_s - 3 * sum_s(kElements));
}

TEST(Mix, SincroniaLetsTheShorterOfTwoJobsGoFirst) {
  const std::vector<JobSpec> jobs = {{0, &kLong, 4, 1}, {0, &kShort, 4, 1}};
  MixOptions options = one_rack(4);
  options.hosts.places_per_host = 2;
  const MixOutcome fair = run_well(options, jobs);
  options.scheduler = SchedulerKind::sincronia;
  const MixOutcome ordered = run_well(options, jobs);
  const double unit_s = sum_s(10 * kElements);
  EXPECT_NEAR(fair.jobs[1].completion_s(), 2 * unit_s, 0.1 * unit_s) << "half of the link each";
  EXPECT_NEAR(ordered.jobs[1].completion_s(), unit_s, 0.1 * unit_s);
  for (const MixOutcome& outcome : {fair, ordered}) {
    EXPECT_NEAR(outcome.jobs[0].completion_s(), 3 * unit_s, 0.1 * unit_s) << "no link is idle";
  }
}

// With a single share, the second job begins when the first one ends, although there are free
// hosts.
TEST(Mix, StaticSharesMakeJobsWaitAndSharingDoesNot) {
  const std::vector<JobSpec> jobs = {{0, &kOne, 2, 3}, {0, &kOne, 2, 3}};
  MixOptions options = one_rack(4);
  options.shares = 1;
  const MixOutcome fixed = run_well(options, jobs);
  EXPECT_NEAR(fixed.jobs[1].started_s, fixed.jobs[0].ended_s, 1e-9);
  options.scheduler = SchedulerKind::slots;
  const MixOutcome shared = run_well(options, jobs);
  EXPECT_EQ(shared.jobs[1].started_s, 0);
  EXPECT_LT(shared.makespan_s, 0.6 * fixed.makespan_s);
}

// The path holds 35 packets. A share of 16 slots fills a part of it, and all 64 slots nearly fill
// it. A worker's window begins at 32 and does not grow with fewer than 128 slots.
TEST(Mix, FewSlotsSlowAJob) {
  const std::vector<JobSpec> jobs = {{0, &kOne, 2, 2}};
  MixOptions options = one_rack(4);
  options.link_delay = base::microseconds(20);
  options.slots = 64;
  options.shares = 4;
  const double share_s = run_well(options, jobs).makespan_s;
  options.scheduler = SchedulerKind::slots;
  options.piece_chunks = 16;
  EXPECT_LT(run_well(options, jobs).makespan_s, 0.6 * share_s);
}

TEST(Mix, EverySchedulerEndsEveryJobAndTheSeedDecidesAll) {
  const std::vector<JobSpec> jobs =
      draw_jobs({.jobs = 8, .mean_gap_s = 0.2, .workers_max = 8, .iterations_max = 2});
  MixOptions options;
  options.hosts = {.racks = 2, .hosts_per_rack = 5, .places_per_host = 2};
  options.scale = 1'000;
  std::vector<double> spans;
  for (const SchedulerKind scheduler : kSchedulers) {
    options.scheduler = scheduler;
    const MixOutcome outcome = run_well(options, jobs);
    for (const JobOutcome& job : outcome.jobs) {
      EXPECT_GE(job.started_s, job.submitted_s);
      EXPECT_GE(job.ended_s - job.started_s, job.gpu_s);
    }
    const MixOutcome again = run_well(options, jobs);
    EXPECT_EQ(again.makespan_s, outcome.makespan_s) << scheduler_name(scheduler);
    EXPECT_EQ(again.packets, outcome.packets) << scheduler_name(scheduler);
    spans.push_back(outcome.makespan_s);
  }
  options.scheduler = SchedulerKind::none;
  options.seed = 2;
  EXPECT_NE(run_well(options, jobs).makespan_s, spans.front());
}

// With one slot, one chunk in flight and a credit below the size of a piece, jobs are slow but none
// hangs.
TEST(Mix, TheLeastSlotsAndCreditStillEndJobs) {
  static constexpr Layer kTiny[] = {{3'000, 100, 100, 10}, {9'000, 100, 100, 10}};
  static constexpr Model kTwoLayers = {"tiny", kTiny};
  MixOptions options = one_rack(2);
  options.hosts = {.racks = 3, .hosts_per_rack = 1, .places_per_host = 2};
  options.slots = options.shares = 1;
  options.credit_chunks = 1;
  options.scale = 1;
  for (const SchedulerKind scheduler : kSchedulers) {
    options.scheduler = scheduler;
    run_well(options, {{0, &kTwoLayers, 3, 3}, {0, &kTwoLayers, 2, 3}});
  }
}

TEST(Mix, StopsWhenItIsTold) {
  const std::vector<JobSpec> jobs = {{0, &kOne, 2, 50}};
  int asked = 0;
  const MixOutcome outcome = run(one_rack(2), jobs, [&](std::size_t done) {
    EXPECT_EQ(done, 0U);
    return ++asked < 3;
  });
  EXPECT_FALSE(outcome.is_complete);
  EXPECT_EQ(asked, 3);
}

TEST(Mix, NamesWhatAClusterCannotRun) {
  MixOptions options = one_rack(4);
  EXPECT_EQ(reason_against(options, std::vector<JobSpec>{{0, &kOne, 4, 1}, {0, &kOne, 5, 1}}),
            "job 2 has 5 workers, and the cluster has 4 hosts");
  options.slots = 8;
  options.shares = 9;
  EXPECT_EQ(reason_against(options, std::vector<JobSpec>{{0, &kOne, 4, 1}}),
            "8 slots cannot be divided in 9 shares: take fewer shares or more slots");
  options.scheduler = SchedulerKind::slots;
  EXPECT_EQ(reason_against(options, std::vector<JobSpec>{{0, &kOne, 4, 1}}), "");
  options = one_rack(64);
  options.hosts.racks = 64;
  options.slots = 30'000;
  options.shares = 1;
  EXPECT_EQ(reason_against(options, std::vector<JobSpec>{{0, &kOne, 4, 1}}),
            "all workers' slots together are 122880000, and at most 1048576 can be: take fewer "
            "hosts or slots, or more shares");
  options = one_rack(200);
  options.hosts.racks = 200;
  EXPECT_NE(reason_against(options, std::vector<JobSpec>{{0, &kOne, 4, 1}}), "");
  options.hosts.racks = 10;
  EXPECT_EQ(reason_against(options, std::vector<JobSpec>(10, {0, &kOne, 2'000, 1})), "");
  EXPECT_NE(reason_against(options, std::vector<JobSpec>(20, {0, &kOne, 2'000, 1})), "");
}

}  // namespace
}  // namespace infold::mix
