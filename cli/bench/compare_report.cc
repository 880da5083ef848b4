// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/compare_report.h"

#include <algorithm>

#include <fmt/format.h>

namespace infold::cli {
namespace {

// Prints four significant figures, without an exponent.
std::string four_figures(double value) {
  const int decimals = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : value >= 1 ? 3 : 4;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string row(const measure::Summary& summary, double first_ms, std::size_t name_width) {
  std::string text = fmt::format("  {:<{}}", summary.impl, name_width);
  if (summary.rounds == 0) return text + fmt::format(" {:>10}\n", "failed");
  const std::string range =
      fmt::format("{} .. {}", four_figures(summary.least_ms), four_figures(summary.most_ms));
  const std::string share =
      summary.bound_ms > 0 ? fmt::format("{:.3f}", summary.bound_ms / summary.median_ms) : "";
  const std::string multiple =
      first_ms > 0 ? fmt::format("{:.2f}x", summary.median_ms / first_ms) : "";
  return text + fmt::format(" {:>10} {:>20} {:>10} {:>10} {:>10} {:>8} {:>8}  {}{}\n",
                            four_figures(summary.median_ms), range, four_figures(summary.p99_ms),
                            four_figures(summary.goodput_mbps()),
                            four_figures(summary.cpu_s_per_gb), share, multiple, summary.check,
                            summary.resent > 0 ? fmt::format(", {} resent", summary.resent) : "");
}

nlohmann::ordered_json conditions_json(const measure::Conditions& conditions) {
  std::vector<std::string> names;
  for (const measure::Implementation& each : conditions.implementations) names.push_back(each.name);
  return {{"worlds", conditions.worlds},
          {"bytes", conditions.bytes},
          {"implementations", names},
          {"one_host", conditions.one_host},
          {"apart", conditions.apart},
          {"rate", conditions.rate},
          {"mtu", conditions.mtu},
          {"loss", conditions.loss},
          {"congestion", conditions.congestion},
          {"zeros", conditions.zeros.share},
          {"zeros_at_end", conditions.zeros.at_end},
          {"rounds", conditions.rounds}};
}

}  // namespace

std::string describe(const measure::Conditions& conditions) {
  std::string text = "all on one host";
  if (!conditions.one_host) {
    text = fmt::format("{}, MTU {}",
                       conditions.bits_per_second > 0 ? conditions.rate + " links"
                                                      : std::string("links as fast as the machine"),
                       conditions.mtu);
  }
  if (conditions.apart) text += ", a processor for each process";
  if (conditions.zeros.share > 0) {
    text += fmt::format(", {:g} % zeros{}", conditions.zeros.share * 100,
                        conditions.zeros.at_end ? " at the end" : "");
  }
  if (conditions.loss > 0) text += fmt::format(", {:g} % loss", conditions.loss * 100);
  return text;
}

std::string comparison_table(const Comparison& comparison) {
  const std::vector<measure::Summary> summaries =
      measure::summarise(comparison.conditions, comparison.samples);
  std::size_t name_width = 8;
  for (const measure::Summary& each : summaries)
    name_width = std::max(name_width, each.impl.size());
  std::string table =
      fmt::format("{}\n{}, {}{}\n", comparison.command, comparison.machine, comparison.started,
                  comparison.complete ? "" : "; STOPPED BEFORE THE LAST ROUND");
  std::uint64_t world = 0;
  std::uint64_t bytes = 0;
  double first_ms = 0;
  for (const measure::Summary& each : summaries) {
    if (each.world != world) {
      table += fmt::format("\n{} ranks, {}\n", each.world, describe(comparison.conditions));
      table += fmt::format("  {:<{}} {:>10} {:>20} {:>10} {:>10} {:>10} {:>8} {:>8}  {}\n", "",
                           name_width, "median ms", "of rounds", "p99 ms", "Mbit/s", "CPU s/GB",
                           "of bound", "times", "check");
    }
    if (each.world != world || each.bytes != bytes) {
      table += fmt::format("{}, {} rounds\n", measure::size_text(each.bytes), each.rounds);
      first_ms = each.rounds > 0 ? each.median_ms : 0;
    }
    world = each.world;
    bytes = each.bytes;
    table += row(each, first_ms, name_width);
  }
  for (const measure::Sample& sample : comparison.samples) {
    if (sample.error.empty()) continue;
    table += fmt::format("\nfailed: {}, {} ranks, {} bytes, round {}: {}\n", sample.impl,
                         sample.world, sample.bytes, sample.round, sample.error);
  }
  return table;
}

nlohmann::ordered_json summary_json(const measure::Summary& summary) {
  nlohmann::ordered_json object = {{"impl", summary.impl},
                                   {"world", summary.world},
                                   {"bytes", summary.bytes},
                                   {"rounds", summary.rounds},
                                   {"check", summary.check}};
  if (summary.rounds == 0) return object;
  object["median_ms"] = summary.median_ms;
  object["least_ms"] = summary.least_ms;
  object["most_ms"] = summary.most_ms;
  object["p99_ms"] = summary.p99_ms;
  object["goodput_mbps"] = summary.goodput_mbps();
  object["cpu_s_per_gb"] = summary.cpu_s_per_gb;
  object["retransmits"] = summary.resent;
  if (summary.bound_ms > 0) object["bound_ms"] = summary.bound_ms;
  return object;
}

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
  nlohmann::ordered_json object = {{"command", comparison.command},
                                   {"machine", comparison.machine},
                                   {"started", comparison.started},
                                   {"load_before", comparison.load_before},
                                   {"complete", comparison.complete},
                                   {"conditions", conditions_json(comparison.conditions)},
                                   {"summaries", nlohmann::ordered_json::array()},
                                   {"samples", nlohmann::ordered_json::array()}};
  for (const measure::Summary& each :
       measure::summarise(comparison.conditions, comparison.samples)) {
    object["summaries"].push_back(summary_json(each));
  }
  for (const measure::Sample& sample : comparison.samples) {
    nlohmann::ordered_json one = {{"impl", sample.impl},
                                  {"world", sample.world},
                                  {"bytes", sample.bytes},
                                  {"round", sample.round}};
    if (sample.error.empty()) {
      one["measured"] = sample.measured;
    } else {
      one["error"] = sample.error;
    }
    object["samples"].push_back(one);
  }
  return object;
}

}  // namespace infold::cli
