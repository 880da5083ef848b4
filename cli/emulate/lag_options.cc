// SPDX-License-Identifier: Apache-2.0
#include "cli/emulate/lag_options.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/line/whole_file.h"
#include "cli/trace/read_traces.h"
#include "core/world.h"

namespace infold::cli {
namespace {

constexpr std::uint64_t kLagUsMax = 60'000'000;
// Enough for a table with many calls of 1024 ranks.
constexpr std::size_t kTableBytesMax = 64 << 20;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

void LagOptions::declare(Options& options) {
  options.real("--lag-us", mean_us_, {0, static_cast<double>(kLagUsMax)},
               "Mean of the microseconds that an emulated rank's calls come after those of rank 0");
  options.list("--lag-at", "RANK=US", "an emulated rank and microseconds, such as 5=20000",
               "Microseconds that are added to each call of one rank: a straggler",
               [this](const std::string& text) { return add_straggler(text); });
  options.path(
      "--lag-table", table_,
      "File with microseconds that are added: a line for each call, with a number for "
      "each rank and commas between; the table restarts from its first line after the last one");
  options.path(
      "--lag-of", run_,
      "First part of the names of a run's traces, as run for run.0.et and so on: ranks are "
      "as late as they were there",
      "PREFIX");
  options.exclude("--lag-table", "--lag-of");
}

bool LagOptions::add_straggler(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return false;
  const auto rank = parse_number(std::string_view(text).substr(0, equals));
  const auto us = parse_number(std::string_view(text).substr(equals + 1));
  if (!rank || !us || *rank >= core::kWorldMax || *us > kLagUsMax) return false;
  stragglers_.always[static_cast<std::uint16_t>(*rank)] =
      base::microseconds(static_cast<std::int64_t>(*us));
  return true;
}

tl::expected<emulate::Lag, std::string> LagOptions::lag(std::uint32_t ranks,
                                                        std::uint32_t real) const {
  for (const auto& [rank, lag] : stragglers_.always) {
    if (rank >= real && rank < ranks) continue;
    return tl::unexpected(
        fmt::format("--lag-at {}: rank {} is not emulated; choose one from {} to {}", rank, rank,
                    real, ranks - 1));
  }
  emulate::Lag lag = stragglers_;
  lag.mean.ns = static_cast<std::int64_t>(mean_us_ * 1e3);
  if (table_.empty() && run_.empty()) return lag;
  auto found = table_.empty() ? of_run(ranks) : table(ranks);
  if (!found) return tl::unexpected(std::move(found.error()));
  lag.table = std::move(*found);
  return lag;
}

tl::expected<emulate::LagTable, std::string> LagOptions::table(std::uint32_t ranks) const {
  const auto fail = [this](const std::string& why) {
    return tl::unexpected(fmt::format("--lag-table {}: {}", table_, why));
  };
  const auto text = read_file(table_, kTableBytesMax);
  if (!text) return fail(text.error());
  auto read = emulate::LagTable::read(*text, ranks);
  if (!read) return fail(read.error());
  return read;
}

tl::expected<emulate::LagTable, std::string> LagOptions::of_run(std::uint32_t ranks) const {
  const auto fail = [this](const std::string& why) {
    return tl::unexpected(fmt::format("--lag-of {}: {}", run_, why));
  };
  std::vector<std::string> files;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    files.push_back(fmt::format("{}.{}.et", run_, rank));
  }
  auto read = read_traces(files);
  if (!read) return fail(read.error());
  if (const auto fault = trace::find_fault_of_set(*read)) return fail(*fault);
  std::vector<trace::Trace> traces;
  for (trace::NamedTrace& each : *read) traces.push_back(std::move(each.trace));
  auto found = emulate::LagTable::of_run(traces, ranks);
  if (!found) return fail(found.error());
  return found;
}

}  // namespace infold::cli
