// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/steps_elsewhere.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "study/whatif/calls/formula_calls.h"
#include "study/whatif/calls/layout.h"
#include "study/whatif/calls/simulated_calls.h"
#include "study/whatif/calls/transfers.h"

namespace infold::whatif {
namespace {

using trace::CollectiveKind;
using trace::Node;
using trace::Trace;

// The most ranks that a recorded run may have.
constexpr std::uint64_t kRanksMax = 1 << 16;
// The limit for all ranks together. Each node takes about 1 KB while it plays.
constexpr std::uint64_t kNodesMax = 4'000'000;
// Ten years, so that virtual time stays far below 2^63 ns.
constexpr std::uint64_t kComputeUsMax = 315'360'000'000'000;

// Returns one trace for each of this many ranks, which take the traces in turn.
std::vector<const Trace*> addresses_of(const std::vector<Trace>& traces, std::size_t ranks) {
  std::vector<const Trace*> addresses;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    addresses.push_back(&traces[rank % traces.size()]);
  }
  return addresses;
}

// Returns the bytes of a call whose tensor is in parts, with another number of parts.
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

// Checks for what no prediction can hold, whatever its setting.
std::optional<std::string> find_excess(const Trace& trace) {
  std::uint64_t us = 0;
  for (const Node& node : trace.nodes) us += std::min(node.duration_us, trace::kReplayedUsMax);
  if (us > kComputeUsMax) return std::string("its nodes last more than ten years together");
  return std::nullopt;
}

std::optional<std::string> find_unplayable(const Trace& trace, const RecordedGroups& groups,
                                           std::uint64_t ranks) {
  return trace::find_unplayable(trace, [&](const std::string& group) {
    return static_cast<int>(groups.size_of(group, ranks));
  });
}

void set(trace::Attributes& attributes, const std::string& name, trace::Attribute::Value value) {
  for (trace::Attribute& each : attributes) {
    if (each.name != name) continue;
    each = trace::make_attribute(name, std::move(value));
    return;
  }
  attributes.push_back(trace::make_attribute(name, std::move(value)));
}

// Turns the trace into that of another rank in a run with another number of ranks.
void set_place(Trace& trace, std::uint16_t rank, const Setting& setting, const Groups& groups) {
  set(trace.attributes, "rank", std::int64_t{rank});
  set(trace.attributes, "world", std::int64_t{setting.ranks});
  for (const Group& group : groups) {
    if (trace::ranks_of_group(trace, group.name).empty()) continue;
    set(trace.attributes, "pg_ranks:" + group.name,
        std::vector<std::int64_t>(group.ranks.begin(), group.ranks.end()));
  }
}

// A run is recorded when its job is warm, but a simulated job begins cold: its windows are small
// and its round trips unknown. Its first step therefore does not count if there are others.
void drop_warm_up(std::vector<std::vector<Step>>& ranks) {
  for (std::vector<Step>& steps : ranks) {
    if (steps.size() > 1) steps.erase(steps.begin());
  }
}

std::optional<std::string> find_refusal(const Trace& trace, const Setting& setting,
                                        const Groups& groups) {
  for (const Node& node : trace.nodes) {
    const auto call = trace::collective_of(node);
    if (!call) continue;
    Setting own = setting;
    own.ranks = groups[number_of(groups, call->group)].size();
    if (auto why = find_refusal(trace::shape_of(*call, own.ranks), own)) return why;
  }
  return std::nullopt;
}

}  // namespace

tl::expected<std::unique_ptr<Calls>, std::string> make_calls(const Setting& setting,
                                                             const Groups& groups) {
  const bool has_calls = std::any_of(groups.begin(), groups.end(),
                                     [](const Group& group) { return group.size() > 1; });
  if (!has_calls) {
    Setting alone = setting;
    alone.place = Place::nowhere;
    return std::make_unique<FormulaCalls>(alone, groups);
  }
  const bool has_machines = setting.place != Place::nowhere && setting.place != Place::ring;
  if (has_machines) {
    const auto plans = plans_of(setting, groups);
    if (!plans) return tl::unexpected(plans.error());
  }
  if (has_machines && setting.model == Model::packets) {
    return std::make_unique<SimulatedCalls>(setting, groups);
  }
  if (setting.place == Place::racks || setting.place == Place::hosts) {
    return tl::unexpected(std::string("the formula knows neither racks nor hosts"));
  }
  return std::make_unique<FormulaCalls>(setting, groups);
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
  if (run.ranks_ > kRanksMax) {
    return tl::unexpected(
        fmt::format("{}: the trace is of {} ranks, and a prediction takes traces of {} at most",
                    traces.front().file, run.ranks_, kRanksMax));
  }
  std::sort(traces.begin(), traces.end(),
            [](const auto& a, const auto& b) { return trace::rank_of(a) < trace::rank_of(b); });
  std::vector<std::string> files;
  for (trace::NamedTrace& each : traces) {
    files.push_back(std::move(each.file));
    run.traces_.push_back(std::move(each.trace));
  }
  auto groups = RecordedGroups::make(run.traces_, run.ranks_);
  if (!groups) return tl::unexpected(std::move(groups.error()));
  run.groups_ = std::move(*groups);
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto why = find_excess(run.traces_[i]);
    if (!why) why = find_unplayable(run.traces_[i], run.groups_, run.ranks_);
    if (why) return tl::unexpected(files[i] + ": " + *why);
  }
  return run;
}

std::vector<Trace> RecordedRun::programs_for(std::uint16_t ranks) const {
  std::vector<Trace> programs(
      traces_.begin(),
      traces_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ranks, traces_.size())));
  if (ranks == ranks_) return programs;
  for (Trace& program : programs) {
    for (Node& node : program.nodes) {
      const auto call = trace::collective_of(node);
      if (!call || call->kind == CollectiveKind::barrier) continue;
      set(node.attributes, "comm_size", static_cast<std::int64_t>(bytes_for(*call, ranks_, ranks)));
    }
  }
  return programs;
}

std::vector<std::vector<Step>> steps_of(const std::vector<Trace>& traces) {
  return steps_of(std::span<const Trace* const>(addresses_of(traces, traces.size())));
}

tl::expected<Prediction, std::string> predict(const RecordedRun& run, const Setting& setting,
                                              PlaybackOptions options) {
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
  auto groups = run.groups().for_ranks(setting.ranks);
  if (!groups) return tl::unexpected(std::move(groups.error()));
  options.groups = *groups;
  const std::vector<Trace> programs = run.programs_for(setting.ranks);
  for (const Trace& each : programs) {
    auto why = find_unplayable(each, run.groups(), setting.ranks);
    if (!why) why = find_refusal(each, setting, *groups);
    if (why) return tl::unexpected(std::move(*why));
  }
  auto calls = make_calls(setting, *groups);
  if (!calls) return tl::unexpected(std::move(calls.error()));
  auto played = play(addresses_of(programs, setting.ranks), **calls, options);
  if (!played) return tl::unexpected(std::move(played.error()));
  Prediction prediction;
  prediction.played = std::move(*played);
  for (std::uint16_t rank = 0; rank < setting.ranks; ++rank) {
    set_place(prediction.played[rank], rank, setting, *groups);
  }
  prediction.steps = steps_of(prediction.played);
  drop_warm_up(prediction.steps);
  prediction.split = split_of(prediction.steps);
  return prediction;
}

}  // namespace infold::whatif
