// SPDX-License-Identifier: Apache-2.0
#include "whatif/prediction.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "whatif/formula_calls.h"
#include "whatif/simulated_calls.h"
#include "whatif/transfers.h"

namespace infold::whatif {
namespace {

using trace::CollectiveKind;
using trace::Node;
using trace::Trace;

// Ranks of a run whose sizes are known.
constexpr std::uint64_t kRanksMax = 1 << 16;
// Of all ranks. Each takes about 2 KB while it plays.
constexpr std::uint64_t kNodesMax = 4'000'000;
// Ten years: virtual time then stays far below 2^63 ns.
constexpr std::uint64_t kComputeUsMax = 315'360'000'000'000;

std::vector<const Trace*> addresses_of(const std::vector<Trace>& traces) {
  std::vector<const Trace*> addresses;
  for (const Trace& each : traces) addresses.push_back(&each);
  return addresses;
}

// A trace's calls have to go to one group of all ranks.
std::optional<std::string> find_groups(const std::vector<Trace>& traces, std::uint64_t world) {
  std::set<std::string> groups;
  for (const Trace& each : traces) {
    for (const std::string& group : trace::groups_of(each)) {
      groups.insert(group);
      const std::size_t ranks = trace::ranks_of_group(each, group).size();
      if (ranks == 0 || ranks == world) continue;
      return fmt::format("group '{}' has {} of {} ranks; a prediction has one group of all ranks",
                         trace::printable(group), ranks, world);
    }
  }
  if (groups.size() < 2) return std::nullopt;
  return fmt::format("the run has {} groups, such as '{}' and '{}'; a prediction has one",
                     groups.size(), trace::printable(*groups.begin()),
                     trace::printable(*std::next(groups.begin())));
}

// The bytes of a call whose tensor is in parts, with another number of parts.
std::uint64_t bytes_for(const trace::Collective& call, std::uint64_t recorded,
                        std::uint64_t ranks) {
  const std::uint64_t width = element_bytes(trace::shape_of(call, 1).type);
  const auto parts_of = [&](std::uint64_t bytes) {
    return (bytes / width + ranks - 1) / ranks * width;
  };
  if (call.kind == CollectiveKind::all_gather) return parts_of(call.bytes * recorded);
  const bool scatters = call.kind == CollectiveKind::reduce_scatter ||
                        call.kind == CollectiveKind::reduce_scatter_block;
  return scatters ? parts_of(call.bytes) * ranks : call.bytes;
}

// What no prediction holds, whatever its setting.
std::optional<std::string> find_excess(const Trace& trace, std::uint64_t ranks) {
  if (ranks > kRanksMax) {
    return fmt::format("the trace is of {} ranks, and a prediction takes traces of {} at most",
                       ranks, kRanksMax);
  }
  std::uint64_t us = 0;
  for (const Node& node : trace.nodes) us += std::min(node.duration_us, trace::kReplayedUsMax);
  if (us > kComputeUsMax) return std::string("its nodes last more than ten years together");
  const auto world = static_cast<int>(ranks);
  return trace::find_unplayable(trace, [world](const std::string&) { return world; });
}

void set(trace::Attributes& attributes, const std::string& name, trace::Attribute::Value value) {
  for (trace::Attribute& each : attributes) {
    if (each.name != name) continue;
    each = trace::make_attribute(name, std::move(value));
    return;
  }
  attributes.push_back(trace::make_attribute(name, std::move(value)));
}

// The trace becomes that of another rank and number of ranks.
void set_place(Trace& trace, std::uint16_t rank, std::uint16_t ranks) {
  set(trace.attributes, "rank", std::int64_t{rank});
  set(trace.attributes, "world", std::int64_t{ranks});
  std::vector<std::int64_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  for (const std::string& group : trace::groups_of(trace)) {
    if (trace::ranks_of_group(trace, group).empty()) continue;
    set(trace.attributes, "pg_ranks:" + group, all);
  }
}

std::optional<std::string> find_refusal(std::span<const Trace> traces, const Setting& setting) {
  const auto world = static_cast<int>(setting.ranks);
  for (const Trace& each : traces) {
    if (auto why = trace::find_unplayable(each, [world](const std::string&) { return world; })) {
      return why;
    }
    for (const Node& node : each.nodes) {
      const auto call = trace::collective_of(node);
      if (!call) continue;
      if (auto why = find_refusal(trace::shape_of(*call, world), setting)) return why;
    }
  }
  return std::nullopt;
}

}  // namespace

tl::expected<std::unique_ptr<Calls>, std::string> make_calls(const Setting& setting) {
  const bool has_machines = setting.place != Place::nowhere && setting.place != Place::ring;
  if (has_machines) {
    if (const auto obstacle = find_obstacle(setting)) return tl::unexpected(*obstacle);
  }
  if (has_machines && setting.model == Model::packets) {
    return std::make_unique<SimulatedCalls>(setting);
  }
  if (setting.place == Place::racks || setting.place == Place::hosts) {
    return tl::unexpected(std::string("the formula knows neither racks nor hosts"));
  }
  return std::make_unique<FormulaCalls>(setting);
}

tl::expected<RecordedRun, std::string> RecordedRun::make(std::vector<trace::NamedTrace> traces) {
  RecordedRun run;
  run.ranks_ = traces.size();
  if (traces.size() > 1) {
    if (const auto fault = trace::find_fault_of_set(traces)) {
      return tl::unexpected(*fault + "; one trace alone stands for all ranks");
    }
  } else {
    run.ranks_ = std::max<std::uint64_t>(traces.front().trace.world().value_or(1), 1);
  }
  std::sort(traces.begin(), traces.end(),
            [](const auto& a, const auto& b) { return trace::rank_of(a) < trace::rank_of(b); });
  for (const trace::NamedTrace& each : traces) {
    if (const auto why = find_excess(each.trace, run.ranks_)) {
      return tl::unexpected(each.file + ": " + *why);
    }
  }
  for (trace::NamedTrace& each : traces) run.traces_.push_back(std::move(each.trace));
  if (auto why = find_groups(run.traces_, run.ranks_)) return tl::unexpected(std::move(*why));
  return run;
}

std::vector<Trace> RecordedRun::for_ranks(std::uint16_t ranks) const {
  std::vector<Trace> traces;
  for (std::uint16_t rank = 0; rank < ranks; ++rank) {
    traces.push_back(traces_[rank % traces_.size()]);
    set_place(traces.back(), rank, ranks);
    if (ranks == ranks_) continue;
    for (Node& node : traces.back().nodes) {
      const auto call = trace::collective_of(node);
      if (!call || call->kind == CollectiveKind::barrier) continue;
      set(node.attributes, "comm_size", static_cast<std::int64_t>(bytes_for(*call, ranks_, ranks)));
    }
  }
  return traces;
}

std::vector<std::vector<Step>> steps_of(const std::vector<Trace>& traces) {
  return steps_of(std::span<const Trace* const>(addresses_of(traces)));
}

tl::expected<Prediction, std::string> predict(const RecordedRun& run, const Setting& setting,
                                              const PlaybackOptions& options) {
  std::uint64_t nodes = 0;
  for (std::uint16_t rank = 0; rank < setting.ranks; ++rank) {
    nodes += run.traces()[rank % run.traces().size()].nodes.size();
  }
  if (nodes > kNodesMax) {
    return tl::unexpected(
        fmt::format("{} ranks have {} nodes together, and a prediction has memory for {}; record "
                    "fewer steps, or predict fewer ranks",
                    setting.ranks, nodes, kNodesMax));
  }
  const std::vector<Trace> programs = run.for_ranks(setting.ranks);
  // Behind the recorded ranks the programs repeat.
  const std::size_t distinct = std::min(programs.size(), run.traces().size());
  if (auto why = find_refusal(std::span(programs).first(distinct), setting)) {
    return tl::unexpected(std::move(*why));
  }
  auto calls = make_calls(setting);
  if (!calls) return tl::unexpected(std::move(calls.error()));
  auto played = play(addresses_of(programs), **calls, options);
  if (!played) return tl::unexpected(std::move(played.error()));
  Prediction prediction;
  prediction.played = std::move(*played);
  prediction.steps = steps_of(prediction.played);
  prediction.split = split_of(prediction.steps);
  return prediction;
}

}  // namespace infold::whatif
