// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/interference.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "trace/views/summary.h"

namespace infold::whatif {
namespace {

using trace::Node;
using trace::NodeType;

// Noise may make the run with calls the faster one, but only up to this factor.
constexpr double kFasterMax = 1.5;
// A compute that takes even longer beside a call is waiting for it.
constexpr double kInterferenceMax = 10;

// Stretches in which at least one call is under way, in order and without overlaps.
using Stretches = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Stretches stretches_of_calls(const trace::Trace& trace) {
  Stretches calls;
  for (const Node& node : trace.nodes) {
    if (trace::collective_of(node))
      calls.emplace_back(node.start_us, node.start_us + node.duration_us);
  }
  std::sort(calls.begin(), calls.end());
  Stretches joined;
  for (const auto& [from, to] : calls) {
    if (!joined.empty() && from <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, to);
    } else {
      joined.emplace_back(from, to);
    }
  }
  return joined;
}

double overlap_us(const Stretches& calls, const Node& node) {
  const std::uint64_t begin = node.start_us;
  const std::uint64_t end = node.start_us + node.duration_us;
  auto each = std::upper_bound(calls.begin(), calls.end(), begin,
                               [](std::uint64_t at, const auto& call) { return at < call.second; });
  std::uint64_t us = 0;
  for (; each != calls.end() && each->first < end; ++each) {
    us += std::min(end, each->second) - std::max(begin, each->first);
  }
  return static_cast<double>(us);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ComputeTime median_of(const trace::Trace& trace) {
  std::vector<double> all;
  std::vector<double> beside;
  for (const ComputeTime& step : compute_times(trace)) {
    all.push_back(step.all_us);
    beside.push_back(step.beside_calls_us);
  }
  return {median(std::move(all)), median(std::move(beside))};
}

}  // namespace

std::vector<ComputeTime> compute_times(const trace::Trace& trace) {
  const Stretches calls = stretches_of_calls(trace);
  const trace::CountedSteps counted(trace);
  std::map<std::uint64_t, ComputeTime> steps;
  for (const Node& node : trace.nodes) {
    const auto number = counted.of(node);
    if (node.type != NodeType::compute || !number) continue;
    ComputeTime& step = steps[*number];
    step.all_us += static_cast<double>(node.duration_us);
    step.beside_calls_us += overlap_us(calls, node);
  }
  std::vector<ComputeTime> times;
  for (const auto& [number, time] : steps) times.push_back(time);
  if (times.empty()) times.emplace_back();
  return times;
}

// C = A - w + w (1 + f), where w is the part of the work A that runs beside calls, and that part
// takes O = w (1 + f).
tl::expected<double, std::string> fit_interference(const trace::Trace& apart,
                                                   const trace::Trace& beside) {
  const ComputeTime alone = median_of(apart);
  const ComputeTime together = median_of(beside);
  if (together.beside_calls_us == 0) {
    return tl::unexpected(std::string("no compute of the trace has a call beside it"));
  }
  if (alone.beside_calls_us > 0.05 * alone.all_us) {
    return tl::unexpected(
        fmt::format("{:.0f} of {:.0f} us of its computes have calls beside them; record one rank "
                    "alone",
                    alone.beside_calls_us, alone.all_us));
  }
  const double work = alone.all_us - together.all_us + together.beside_calls_us;
  const double fitted = together.beside_calls_us / work - 1;
  const bool is_other_program = alone.all_us > kFasterMax * together.all_us;
  if (work <= 0 || fitted > kInterferenceMax || is_other_program) {
    return tl::unexpected(
        fmt::format("its computes take {:.0f} us a step, and those of the run {:.0f} us, of which "
                    "{:.0f} us have a call beside them; record the same program on the same "
                    "machine",
                    alone.all_us, together.all_us, together.beside_calls_us));
  }
  return std::max(0.0, fitted);
}

std::vector<double> works_us(const trace::Trace& trace, double interference) {
  const Stretches calls = interference > 0 ? stretches_of_calls(trace) : Stretches();
  std::vector<double> works;
  for (const Node& node : trace.nodes) {
    const auto us = static_cast<double>(trace::weight_of(node));
    const bool computes = node.type == NodeType::compute && interference > 0;
    const double beside = computes ? overlap_us(calls, node) : 0;
    works.push_back(us - beside + beside / (1 + interference));
  }
  return works;
}

}  // namespace infold::whatif
