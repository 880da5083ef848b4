// SPDX-License-Identifier: Apache-2.0
//
// Checks every field of every line.
#include "study/mix/jobs/job_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace infold::mix {
namespace {

std::string names_of(std::span<const Model> models) {
  std::string names;
  for (const Model& model : models) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  }
  return names;
}

using Line = tl::expected<JobSpec, std::string>;

Line read_line(const TableText& table, std::span<const Model> known) {
  std::array<std::string_view, 4> fields;
  std::string fault = table.split(fields, "seconds, model, workers, iterations");
  if (!fault.empty()) return tl::unexpected(std::move(fault));
  JobSpec job;
  const auto seconds = parse_real(fields[0], kSubmitSecondsMax);
  if (!seconds) {
    return tl::unexpected(fmt::format("submitted at {}: must be 0 to {:.0f} seconds",
                                      quoted(fields[0]), kSubmitSecondsMax));
  }
  job.submit_s = *seconds;
  job.model = find_model(fields[1], known);
  if (job.model == nullptr) {
    return tl::unexpected(
        fmt::format("unknown model {}: must be one of {}", quoted(fields[1]), names_of(known)));
  }
  const auto workers = parse_whole(fields[2], kWorkersOfJobMax);
  if (!workers) {
    return tl::unexpected(
        fmt::format("{} workers: must be 1 to {}", quoted(fields[2]), kWorkersOfJobMax));
  }
  job.workers = static_cast<std::uint16_t>(*workers);
  const auto iterations = parse_whole(fields[3], kIterationsMax);
  if (!iterations) {
    return tl::unexpected(
        fmt::format("{} iterations: must be 1 to {}", quoted(fields[3]), kIterationsMax));
  }
  job.iterations = *iterations;
  return job;
}

}  // namespace

tl::expected<std::vector<JobSpec>, BadLine> read_jobs(std::string_view text,
                                                      std::span<const Model> known) {
  std::vector<JobSpec> jobs;
  TableText table(text);
  while (table.next()) {
    if (jobs.size() == kJobsMax) {
      return tl::unexpected(table.bad(fmt::format("more than {} jobs", kJobsMax)));
    }
    const Line job = read_line(table, known);
    if (!job) return tl::unexpected(table.bad(job.error()));
    const auto later = std::upper_bound(
        jobs.begin(), jobs.end(), *job,
        [](const JobSpec& a, const JobSpec& b) { return a.submit_s < b.submit_s; });
    jobs.insert(later, *job);
  }
  if (jobs.empty())
    return tl::unexpected(
        BadLine{0, "the file has no job; write a line for each, such as: 0, VGG-16, 4, 1"});
  return jobs;
}

std::string write_jobs(std::span<const JobSpec> jobs) {
  std::string text = "# seconds, model, workers, iterations\n";
  for (const JobSpec& job : jobs) {
    text +=
        fmt::format("{}, {}, {}, {}\n", job.submit_s, job.model->name, job.workers, job.iterations);
  }
  return text;
}

}  // namespace infold::mix
