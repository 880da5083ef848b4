// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/lag/lag_table.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "trace/call_shape.h"

namespace infold::emulate {
namespace {

constexpr double kLagUsMax = 60'000'000;
// A table with more rows is a mistake.
constexpr std::size_t kRowsMax = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<base::Duration> lag_of(std::string_view field) {
  double us = 0;
  const auto [stop, error] = std::from_chars(field.data(), field.data() + field.size(), us);
  const bool is_whole_field = error == std::errc() && stop == field.data() + field.size();
  if (!is_whole_field || !(us >= 0) || us > kLagUsMax) return std::nullopt;
  return base::Duration{static_cast<std::int64_t>(us * 1000)};
}

tl::expected<std::vector<base::Duration>, std::string> row_of(std::string_view line,
                                                              std::size_t number,
                                                              std::uint32_t ranks) {
  std::vector<base::Duration> row;
  while (true) {
    const std::size_t comma = line.find(',');
    const std::string_view field = trimmed(line.substr(0, comma));
    const auto lag = lag_of(field);
    if (!lag) {
      return tl::unexpected(
          fmt::format("line {}, rank {}: '{}' is not a number of microseconds from 0 to {:.0f}",
                      number, row.size(), trace::printable(field), kLagUsMax));
    }
    row.push_back(*lag);
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  if (row.size() == ranks) return row;
  return tl::unexpected(
      fmt::format("line {} has {} numbers, and there are {} ranks", number, row.size(), ranks));
}

// A call in parts makes one transfer per rank.
std::size_t transfers_of(const trace::Collective& call, std::uint32_t ranks) {
  using trace::CollectiveKind;
  const bool in_parts = call.kind == CollectiveKind::all_gather ||
                        call.kind == CollectiveKind::reduce_scatter ||
                        call.kind == CollectiveKind::reduce_scatter_block;
  return in_parts ? ranks : 1;
}

}  // namespace

tl::expected<LagTable, std::string> LagTable::read(std::string_view text, std::uint32_t ranks) {
  LagTable table;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view said = trimmed(line.substr(0, line.find('#')));
    if (said.empty()) continue;
    auto row = row_of(said, number, ranks);
    if (!row) return tl::unexpected(std::move(row.error()));
    if (table.rows_.size() == kRowsMax) {
      return tl::unexpected(fmt::format("line {}: a table has {} lines at most", number, kRowsMax));
    }
    table.rows_.push_back(std::move(*row));
  }
  if (table.empty()) return tl::unexpected(std::string("the table has no line"));
  return table;
}

tl::expected<LagTable, std::string> LagTable::of_run(std::span<const trace::Trace> traces,
                                                     std::uint32_t ranks) {
  if (traces.size() != ranks) {
    return tl::unexpected(
        fmt::format("there are traces of {} ranks, and --ranks says {}", traces.size(), ranks));
  }
  std::vector<std::vector<std::size_t>> calls;
  for (const trace::Trace& each : traces) {
    const trace::GroupCalls groups = trace::calls_of(each);
    if (groups.size() != 1) {
      return tl::unexpected(fmt::format("a run has one group here, and rank {} has calls of {}",
                                        calls.size(), groups.size()));
    }
    calls.push_back(groups.begin()->second);
  }
  LagTable table;
  for (std::size_t call = 0; call < calls.front().size(); ++call) {
    const trace::Node& first = traces.front().nodes[calls.front()[call]];
    std::vector<base::Duration> row(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (call >= calls[rank].size()) continue;  // find_fault_of_set() refuses such runs
      const std::uint64_t at = traces[rank].nodes[calls[rank][call]].start_us;
      const std::uint64_t late = at > first.start_us ? at - first.start_us : 0;
      row[rank] = base::microseconds(
          static_cast<std::int64_t>(std::min(late, static_cast<std::uint64_t>(kLagUsMax))));
    }
    const std::size_t transfers = transfers_of(*trace::collective_of(first), ranks);
    if (table.rows_.size() + transfers > kRowsMax) {
      return tl::unexpected(fmt::format("the run has more than {} calls", kRowsMax));
    }
    table.rows_.insert(table.rows_.end(), transfers, row);
  }
  return table;
}

}  // namespace infold::emulate
