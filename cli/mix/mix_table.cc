// SPDX-License-Identifier: Apache-2.0
//
// Prints columns for people and fields for programs.
#include "cli/mix/mix_table.h"

#include <string>

#include "cli/line/quantity.h"

namespace infold::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

nlohmann::ordered_json job_json(std::size_t index, const mix::JobSpec& job) {
  nlohmann::ordered_json json;
  json["job"] = index + 1;
  json["model"] = job.model->name;
  json["workers"] = job.workers;
  json["iterations"] = job.iterations;
  json["submitted_s"] = job.submit_s;
  return json;
}

void print_objects(Output& output, const MixRow& row, std::span<const mix::JobSpec> jobs,
                   std::span<const double> alone_s) {
  if (!output.json()) return;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const mix::JobOutcome& outcome = row.outcome.jobs[i];
    nlohmann::ordered_json json = job_json(i, jobs[i]);
    json["scheduler"] = scheduler_name(row.scheduler);
    json["racks"] = outcome.racks;
    json["started_s"] = outcome.started_s;
    json["ended_s"] = outcome.ended_s;
    json["alone_s"] = alone_s[i];
    json["inflation"] = outcome.completion_s() / alone_s[i];
    output.object(json);
  }
  nlohmann::ordered_json json;
  json["scheduler"] = scheduler_name(row.scheduler);
  json["jobs"] = jobs.size();
  json["mean_completion_s"] = row.summary.mean_completion_s;
  json["p95_completion_s"] = row.summary.p95_completion_s;
  json["mean_inflation"] = row.summary.mean_inflation;
  json["p95_inflation"] = row.summary.p95_inflation;
  json["mean_wait_s"] = row.summary.mean_wait_s;
  json["gpu_idle_share"] = row.summary.idle_share;
  json["host_links_busy"] = row.outcome.host_links_busy;
  json["rack_links_busy"] = row.outcome.rack_links_busy;
  json["makespan_s"] = row.outcome.makespan_s;
  json["packets"] = row.outcome.packets;
  json["retransmits"] = row.outcome.retransmits;
  json["took_s"] = row.took_s;
  output.object(json);
}

void print_table(Output& output, const mix::MixOptions& options, std::span<const MixRow> rows,
                 std::size_t jobs) {
  output.text("{} on {} of {}; links {}, to the spine {}; scale {:g}\n\n", counted(jobs, "job"),
              counted(options.hosts.racks, "rack"), counted(options.hosts.hosts_per_rack, "host"),
              short_rate(static_cast<double>(options.host_bits_per_second)),
              short_rate(static_cast<double>(options.rack_bits_per_second)), options.scale);
  output.text("{:<10} {:>16} {:>13} {:>9} {:>8} {:>10} {:>10} {:>11} {:>8}\n", "", "completion s",
              "inflation", "wait s", "GPU", "host", "rack", "makespan", "took");
  output.text("{:<10} {:>8} {:>7} {:>7} {:>5} {:>9} {:>8} {:>10} {:>10} {:>11} {:>8}\n",
              "scheduler", "mean", "p95", "mean", "p95", "mean", "idle", "links", "links", "s",
              "s");
  for (const MixRow& row : rows) {
    output.text(
        "{:<10} {:>8.2f} {:>7.2f} {:>7.2f} {:>5.2f} {:>9.2f} {:>8} {:>10} {:>10} {:>11.1f} "
        "{:>8.1f}\n",
        scheduler_name(row.scheduler), row.summary.mean_completion_s, row.summary.p95_completion_s,
        row.summary.mean_inflation, row.summary.p95_inflation, row.summary.mean_wait_s,
        percent(row.summary.idle_share), percent(row.outcome.host_links_busy),
        percent(row.outcome.rack_links_busy), row.outcome.makespan_s, row.took_s);
  }
}

}  // namespace infold::cli
