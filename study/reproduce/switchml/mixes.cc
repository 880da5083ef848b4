// SPDX-License-Identifier: Apache-2.0
//
// Four sets of runs, with the figures and targets of each.
#include "study/reproduce/switchml/mixes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "study/mix/jobs/draw_jobs.h"
#include "study/mix/run/mix.h"
#include "study/reproduce/packet_bound.h"
#include "study/reproduce/switchml/training_step.h"

namespace infold::reproduce {
namespace {

using mix::JobSpec;
using mix::MixOptions;
using mix::SchedulerKind;

constexpr double kLink = 10e9;
constexpr double kRoundTrip = 5e-6;  // from a host to its rack's switch and back, as in MixOptions
constexpr double kClosedWithin = 0.03;
// If a GPU determines the time and not the network, schedulers only add the cost of more calls.
constexpr double kEvenWithin = 0.01;
// A packet of integers, without exponents: header 32, and what a link adds to a datagram.
constexpr Frame kFrame = {.elements = 352, .bytes = 32 + 4 * 352 + 66};

constexpr std::array<std::uint16_t, 2> kRacks = {1, 4};
constexpr std::array<std::uint32_t, 3> kShares = {4, 8, 16};
// The first three of mix::kSchedulers.
constexpr std::size_t kCompared = 3;

constexpr const char* kClosed =
    "The closed form has one queue for the link and one for the GPU. It knows no windows, and its "
    "pipeline fill is the round trip and a packet on each further link.";
constexpr const char* kOwn = "We have no figure of the authors for this, so ours stands alone.";

mix::MixOutcome run(Report& report, const MixOptions& options, const std::vector<JobSpec>& jobs) {
  const std::string reason = mix::reason_against(options, jobs);
  if (!reason.empty()) {
    report.wrong.push_back(reason);
    return {};
  }
  mix::MixOutcome outcome = mix::run(options, jobs);
  report.wrong.insert(report.wrong.end(), outcome.wrong.begin(), outcome.wrong.end());
  return outcome;
}

double mean_completion_s(const mix::MixOutcome& outcome) {
  double sum = 0;
  for (const mix::JobOutcome& job : outcome.jobs) sum += job.completion_s();
  return sum / static_cast<double>(outcome.jobs.size());
}

// The scale multiplies the weight of a round trip and of a packet.
double closed_s(const Model& model, double scale, std::uint32_t links) {
  const double packet_s = 8.0 * kFrame.bytes / kLink;
  const double fill_s = links * (kRoundTrip + 2 * packet_s) - packet_s;
  return step_s(model.layers, 1, {kFrame.elements_per_second(kLink), scale * fill_s});
}

void add_alone(Report& report, const MixesOptions& options, Rows& rows) {
  double worst = 0;
  for (const std::uint16_t racks : kRacks) {
    MixOptions cluster;
    cluster.hosts = {.racks = racks, .hosts_per_rack = static_cast<std::uint16_t>(8 / racks)};
    cluster.scale = options.scale_alone;
    cluster.sigma = 0;
    for (const Model& model : models()) {
      rows.begin(fmt::format("{} alone, {} rack{}", model.name, racks, racks > 1 ? "s" : ""));
      const mix::MixOutcome outcome = run(report, cluster, {{0, &model, 8, 1}});
      const Figure figure = {fmt::format("{}, one iteration of 8 workers in {} rack{}", model.name,
                                         racks, racks > 1 ? "s" : ""),
                             "s",
                             Basis::formula,
                             closed_s(model, cluster.scale, racks > 1 ? 2 : 1),
                             outcome.makespan_s,
                             kClosed};
      worst = std::max(worst, std::abs(*difference(figure)));
      report.figures.push_back(figure);
    }
  }
  report.targets.push_back(
      {fmt::format("one job takes its closed time within {:.0f} %", 100 * kClosedWithin),
       worst <= kClosedWithin});
}

// Both jobs have a worker on each of four hosts.
void add_pair(Report& report, const MixesOptions& options, Rows& rows, const JobSpec& first,
              JobSpec second) {
  MixOptions cluster;
  cluster.hosts = {.racks = 1, .hosts_per_rack = 4, .places_per_host = 2};
  cluster.scale = options.scale;
  const double step = step_s(first.model->layers, 1, {kFrame.elements_per_second(kLink), 0});
  double none_s = 0;
  double sincronia_s = 0;
  for (std::uint32_t i = 0; i < options.offsets; ++i) {
    const double part = static_cast<double>(i) / options.offsets;
    second.submit_s = part * step;
    rows.begin(fmt::format("{} and {}", first.model->name, second.model->name));
    std::array<double, kCompared> means{};
    for (std::size_t each = 0; each < means.size(); ++each) {
      cluster.scheduler = mix::kSchedulers[each];
      means[each] = mean_completion_s(run(report, cluster, {first, second}));
    }
    none_s += means[0];
    sincronia_s += means[2];
    const std::string pair = fmt::format("{} and {} {:.2f} iterations later", first.model->name,
                                         second.model->name, part);
    report.figures.push_back({pair + ", none", "s", Basis::none, 0, means[0], kOwn});
    for (const std::size_t each : {1U, 2U}) {
      report.figures.push_back(
          {fmt::format("{}, {} / none", pair, scheduler_name(mix::kSchedulers[each])), "times",
           Basis::none, 0, means[each] / means[0], kOwn});
    }
  }
  report.targets.push_back(
      {fmt::format("{} and {}: over all offsets, sincronia's mean completion is at most {:.0f} % "
                   "above that of none",
                   first.model->name, second.model->name, 100 * kEvenWithin),
       sincronia_s <= (1 + kEvenWithin) * none_s});
}

MixOptions racks_below_a_spine(const MixesOptions& options) {
  MixOptions cluster;
  cluster.hosts = {.racks = 8, .hosts_per_rack = 7};
  cluster.scale = options.scale;
  return cluster;
}

// Returns the mean over all lists.
double mean_over_lists(Report& report, const MixesOptions& options, MixOptions cluster) {
  double sum_s = 0;
  for (std::uint64_t seed = 1; seed <= options.lists; ++seed) {
    cluster.seed = seed;
    sum_s += mean_completion_s(
        run(report, cluster, mix::draw_jobs({.jobs = options.jobs, .seed = seed})));
  }
  return sum_s / options.lists;
}

void add_lists(Report& report, const MixesOptions& options, Rows& rows) {
  MixOptions cluster = racks_below_a_spine(options);
  std::array<double, kCompared> means{};
  for (std::size_t i = 0; i < means.size(); ++i) {
    cluster.scheduler = mix::kSchedulers[i];
    rows.begin(fmt::format("{} jobs, {}", options.jobs, scheduler_name(cluster.scheduler)));
    means[i] = mean_over_lists(report, options, cluster);
    report.figures.push_back({fmt::format("{} jobs, mean completion, {}", options.jobs,
                                          scheduler_name(cluster.scheduler)),
                              "s", Basis::none, 0, means[i], kOwn});
  }
  report.targets.push_back(
      {fmt::format("{} jobs: mean completions rise from sincronia over priority to none",
                   options.jobs),
       means[2] < means[1] && means[1] < means[0]});
}

// A path of two levels holds about 12 packets. With few fixed shares, each fills the path, but jobs
// wait for a share. With many shares all jobs begin, but none fills the path. Taking turns also
// lets all jobs begin.
void add_scarce_slots(Report& report, const MixesOptions& options, Rows& rows) {
  MixOptions cluster = racks_below_a_spine(options);
  cluster.slots = 64;
  cluster.piece_chunks = 8;
  const auto add = [&](const std::string& how) {
    rows.begin(fmt::format("{} jobs, {}", options.jobs, how));
    const double mean_s = mean_over_lists(report, options, cluster);
    report.figures.push_back(
        {fmt::format("{} jobs, switches of {} slots, {}", options.jobs, cluster.slots, how), "s",
         Basis::none, 0, mean_s, kOwn});
    return mean_s;
  };
  double smallest_s = 0;
  for (const std::uint32_t shares : kShares) {
    cluster.shares = shares;
    smallest_s = add(fmt::format("{} fixed shares", shares));
  }
  cluster.scheduler = SchedulerKind::slots;
  const double turns_s = add("turns of 8 slots");
  report.targets.push_back({fmt::format("{} jobs with few slots: turns have a lower mean "
                                        "completion than 16 fixed shares",
                                        options.jobs),
                            turns_s < smallest_s});
}

}  // namespace

Report switchml_mixes(const MixesOptions& options, const Progress& progress) {
  Report report;
  report.setting = {
      "Links have 10 Gbit/s and 5 us from a host to its rack's switch and back. Layers and their "
      "times: SwitchML-omnetpp, 2023, one V100.",
      fmt::format("Elements and times of GPUs are divided by {:g} for one job, and by {:g} for "
                  "several. Times are multiplied by it again.",
                  options.scale_alone, options.scale),
      "Two jobs share the links of four hosts. Lists of jobs run on 8 racks of 7 hosts below a "
      "spine."};
  Rows rows(progress,
            kRacks.size() * models().size() + 2 * options.offsets + kCompared + kShares.size() + 1);
  add_alone(report, options, rows);
  const JobSpec bert = {0, mix::find_model("BERT-large"), 4, 4};
  add_pair(report, options, rows, bert, {0, mix::find_model("VGG-16"), 4, 4});
  add_pair(report, options, rows, bert, {0, mix::find_model("ResNet-50"), 4, 8});
  add_lists(report, options, rows);
  add_scarce_slots(report, options, rows);
  return report;
}

}  // namespace infold::reproduce
