// SPDX-License-Identifier: Apache-2.0
//
// Splits lines and fields, and checks every number.
#include "study/mix/jobs/job_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace infold::mix {
namespace {

constexpr std::string_view kSpaces = " \t\r\v\f";
constexpr std::size_t kFields = 4;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Removes the text up to the mark, and the mark, from the front. Returns the text before the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// Returns the typed text, short enough for a message, and without control characters.
std::string quoted(std::string_view typed) {
  constexpr std::size_t kShownMax = 40;
  std::string shown(typed.substr(0, kShownMax));
  for (char& letter : shown) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return fmt::format("'{}{}'", shown, typed.size() > kShownMax ? "..." : "");
}

std::optional<std::uint32_t> parse_whole(std::string_view typed, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* const end = typed.data() + typed.size();
  const auto [stop, error] = std::from_chars(typed.data(), end, value);
  if (error != std::errc() || stop != end || value < 1 || value > most) return std::nullopt;
  return value;
}

std::optional<double> parse_seconds(std::string_view typed) {
  double value = 0;
  const char* const end = typed.data() + typed.size();
  const auto [stop, error] = std::from_chars(typed.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  if (!std::isfinite(value) || value < 0 || value > kSubmitSecondsMax) return std::nullopt;
  return value;
}

std::string model_names() {
  std::string names;
  for (const Model& model : models()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  }
  return names;
}

using Line = tl::expected<JobSpec, std::string>;

Line read_line(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  const auto commas = static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  if (commas + 1 != kFields) {
    return tl::unexpected(
        fmt::format("{} fields, not {}: seconds, model, workers, iterations", commas + 1, kFields));
  }
  for (std::string_view& field : fields) field = trimmed(take_until(line, ','));
  JobSpec job;
  const auto seconds = parse_seconds(fields[0]);
  if (!seconds) {
    return tl::unexpected(fmt::format("submitted at {}: must be 0 to {:.0f} seconds",
                                      quoted(fields[0]), kSubmitSecondsMax));
  }
  job.submit_s = *seconds;
  job.model = find_model(fields[1]);
  if (job.model == nullptr) {
    return tl::unexpected(
        fmt::format("unknown model {}: must be one of {}", quoted(fields[1]), model_names()));
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

tl::expected<std::vector<JobSpec>, BadLine> read_jobs(std::string_view text) {
  std::vector<JobSpec> jobs;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view rest = take_until(text, '\n');
    const std::string_view line = trimmed(take_until(rest, '#'));
    if (line.empty()) continue;
    if (jobs.size() == kJobsMax) {
      return tl::unexpected(BadLine{number, fmt::format("more than {} jobs", kJobsMax)});
    }
    const Line job = read_line(line);
    if (!job) return tl::unexpected(BadLine{number, job.error()});
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
