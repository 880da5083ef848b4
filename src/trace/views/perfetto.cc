// SPDX-License-Identifier: Apache-2.0
#include "trace/views/perfetto.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trace/graph.h"

namespace infold::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kRows = {"steps", "compute", "collectives", "other"};
// The number of rows of one kind. More would be unreadable in a viewer, so further nodes share the
// last row.
constexpr std::size_t kLanesMax = 100;

std::size_t row_of(const Node& node) {
  if (node.type == NodeType::metadata) return 0;
  if (node.type == NodeType::compute) return 1;
  return node.type == NodeType::collective ? 2 : 3;
}

// Gives each node of a kind the first row that is free when the node begins.
class Lanes {
 public:
  std::size_t take(const Node& node) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] > node.start_us && i + 1 < kLanesMax) continue;
      ends_[i] = std::max(ends_[i], node.start_us + node.duration_us);
      return i;
    }
    ends_.push_back(node.start_us + node.duration_us);
    return ends_.size() - 1;
  }
  std::size_t count() const { return ends_.size(); }

 private:
  std::vector<std::uint64_t> ends_;
};

std::size_t thread_number(std::size_t row, std::size_t lane) { return row * kLanesMax + lane + 1; }

Json arguments_of(const Node& node) {
  Json arguments = {{"id", node.id}};
  if (const auto step = step_of(node)) arguments["step"] = *step;
  if (auto operators = text(node.attributes, "operators")) arguments["operators"] = *operators;
  if (const auto collective = collective_of(node)) {
    arguments["kind"] = collective_name(collective->kind);
    arguments["bytes"] = collective->bytes;
    if (!collective->group.empty()) arguments["group"] = collective->group;
    if (!collective->data_type.empty()) arguments["dtype"] = collective->data_type;
  }
  return arguments;
}

class Events {
 public:
  explicit Events(std::uint64_t origin_us) : origin_us_(origin_us) {}

  void add(const Timeline& timeline) {
    const Trace& trace = *timeline.trace;
    process_ = timeline.process;
    threads_.assign(trace.nodes.size(), 0);
    name("process_name", 0, timeline.name);
    place(trace);
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      const Node& node = trace.nodes[i];
      const auto step = step_of(node);
      events_.push_back({{"name", ends_step(node) ? fmt::format("step {}", *step) : node.name},
                         {"ph", "X"},
                         {"ts", node.start_us - origin_us_},
                         {"dur", node.duration_us},
                         {"pid", process_},
                         {"tid", threads_[i]},
                         {"args", arguments_of(node)}});
    }
    add_arrows(trace);
  }

  std::string text() {
    const Json all = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
    return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  void name(const char* what, std::size_t thread, const std::string& text) {
    events_.push_back({{"name", what},
                       {"ph", "M"},
                       {"pid", process_},
                       {"tid", thread},
                       {"args", {{"name", text}}}});
  }

  void place(const Trace& trace) {
    std::vector<std::size_t> by_start(trace.nodes.size());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(trace.nodes[a].start_us, a) < std::pair(trace.nodes[b].start_us, b);
    });
    std::array<Lanes, kRows.size()> lanes;
    for (const std::size_t i : by_start) {
      const std::size_t row = row_of(trace.nodes[i]);
      threads_[i] = thread_number(row, lanes[row].take(trace.nodes[i]));
    }
    for (std::size_t row = 0; row < kRows.size(); ++row) {
      for (std::size_t lane = 0; lane < lanes[row].count(); ++lane) {
        name("thread_name", thread_number(row, lane),
             lane == 0 ? kRows[row] : fmt::format("{} {}", kRows[row], lane + 1));
      }
    }
  }

  void add_arrows(const Trace& trace) {
    const NodeIndex index(trace);
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      for (const std::uint64_t id : trace.nodes[i].data_deps) {
        const auto from = index.find(id);
        if (!from || trace.nodes[*from].type != NodeType::collective) continue;
        const Node& source = trace.nodes[*from];
        ++arrows_;
        arrow("s", threads_[*from], source.start_us + source.duration_us);
        arrow("f", threads_[i], trace.nodes[i].start_us);
      }
    }
  }

  void arrow(const char* end, std::size_t thread, std::uint64_t us) {
    events_.push_back({{"name", "result"},
                       {"cat", "dependency"},
                       {"ph", end},
                       {"bp", "e"},
                       {"id", arrows_},
                       {"ts", us - origin_us_},
                       {"pid", process_},
                       {"tid", thread}});
  }

  const std::uint64_t origin_us_;
  std::uint64_t process_ = 0;
  std::vector<std::size_t> threads_;  // the rows of the current trace's nodes
  Json events_ = Json::array();
  std::uint64_t arrows_ = 0;
};

}  // namespace

std::string perfetto_of(std::span<const Timeline> timelines) {
  std::uint64_t origin_us = 0;
  bool is_first = true;
  for (const Timeline& each : timelines) {
    for (const Node& node : each.trace->nodes) {
      origin_us = is_first ? node.start_us : std::min(origin_us, node.start_us);
      is_first = false;
    }
  }
  Events events(origin_us);
  for (const Timeline& each : timelines) events.add(each);
  return events.text();
}

std::string perfetto_of(std::span<const NamedTrace> traces) {
  std::vector<Timeline> timelines;
  for (const NamedTrace& each : traces) {
    const std::uint64_t rank = rank_of(each).value_or(timelines.size());
    timelines.push_back({rank, fmt::format("rank {}", rank), &each.trace});
  }
  return perfetto_of(timelines);
}

}  // namespace infold::trace
