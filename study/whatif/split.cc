// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/split.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "trace/call_shape.h"

namespace infold::whatif {
namespace {

using trace::Node;
using trace::NodeType;

std::uint64_t end_of(const Node& node) { return node.start_us + node.duration_us; }

// When all ranks had made each call.
class Openings {
 public:
  explicit Openings(std::span<const trace::Trace* const> traces) {
    for (const trace::Trace* trace : traces) {
      for (const auto& [group, nodes] : trace::calls_of(*trace)) {
        std::vector<std::uint64_t>& made = made_[group];
        made.resize(std::max(made.size(), nodes.size()));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          made[i] = std::max(made[i], trace->nodes[nodes[i]].start_us);
        }
      }
    }
  }
  std::uint64_t of(const std::string& group, std::size_t call) const {
    return made_.at(group)[call];
  }

 private:
  std::map<std::string, std::vector<std::uint64_t>> made_;
};

// By time: the number of computes, and of calls that all ranks have made, that begin, minus the
// number that end.
using Changes = std::map<std::uint64_t, std::array<int, 2>>;

Changes changes_of(const trace::Trace& trace, const Openings& openings) {
  Changes changes;
  const auto add = [&](std::size_t kind, std::uint64_t from, std::uint64_t to) {
    if (from >= to) return;
    ++changes[from][kind];
    --changes[to][kind];
  };
  for (const Node& node : trace.nodes) {
    const bool is_call = trace::collective_of(node).has_value();
    if (!is_call && node.type != NodeType::metadata) add(0, node.start_us, end_of(node));
  }
  for (const auto& [group, nodes] : trace::calls_of(trace)) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = trace.nodes[nodes[i]];
      add(1, std::max(node.start_us, openings.of(group, i)), end_of(node));
    }
  }
  return changes;
}

// The end of each step by its number, and the beginning of the first step.
struct Bounds {
  std::uint64_t begin_us = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ends_us;
};

Bounds bounds_of(const trace::Trace& trace) {
  const trace::CountedSteps counted(trace);
  Bounds bounds;
  bool is_first = true;
  std::map<std::uint64_t, std::uint64_t> ends;
  for (const Node& node : trace.nodes) {
    if (node.type == NodeType::metadata) continue;
    bounds.begin_us = is_first ? node.start_us : std::min(bounds.begin_us, node.start_us);
    is_first = false;
    const auto step = counted.of(node);
    if (!step) continue;
    std::uint64_t& end = ends[*step];
    end = std::max(end, end_of(node));
  }
  bounds.ends_us.assign(ends.begin(), ends.end());
  return bounds;
}

// Follows what the rank does as time goes on.
class Sweep {
 public:
  explicit Sweep(const Changes& changes) : changes_(changes), next_(changes.begin()) {}

  std::vector<Segment> advance(std::uint64_t from, std::uint64_t to) {
    std::vector<Segment> segments;
    while (from < to) {
      for (; next_ != changes_.end() && next_->first <= from; ++next_) {
        computes_ += next_->second[0];
        calls_ += next_->second[1];
      }
      const std::uint64_t until = next_ == changes_.end() ? to : std::min(to, next_->first);
      Doing doing = Doing::waits;
      if (calls_ > 0) doing = Doing::communicates;
      if (computes_ > 0) doing = Doing::computes;
      if (!segments.empty() && segments.back().doing == doing) {
        segments.back().to_us = until;
      } else {
        segments.push_back({doing, from, until});
      }
      from = until;
    }
    return segments;
  }

 private:
  const Changes& changes_;
  Changes::const_iterator next_;
  int computes_ = 0;
  int calls_ = 0;
};

}  // namespace

std::uint64_t Step::us(Doing doing) const {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments) {
    if (segment.doing == doing) sum += segment.to_us - segment.from_us;
  }
  return sum;
}

std::vector<std::vector<Step>> steps_of(std::span<const trace::Trace* const> traces) {
  const Openings openings(traces);
  std::vector<std::vector<Step>> ranks;
  for (const trace::Trace* trace : traces) {
    const Changes changes = changes_of(*trace, openings);
    const Bounds bounds = bounds_of(*trace);
    Sweep sweep(changes);
    std::vector<Step>& steps = ranks.emplace_back();
    std::uint64_t from = bounds.begin_us;
    for (const auto& [number, end] : bounds.ends_us) {
      if (end <= from) continue;
      steps.push_back({number, sweep.advance(from, end)});
      from = end;
    }
  }
  return ranks;
}

Split split_of(std::span<const std::vector<Step>> ranks) {
  Split mean;
  std::size_t count = 0;
  for (std::vector<Step> steps : ranks) {
    if (steps.empty()) continue;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end(),
                     [](const Step& a, const Step& b) { return a.us() < b.us(); });
    mean.step_us += static_cast<double>(middle->us());
    mean.compute_us += static_cast<double>(middle->us(Doing::computes));
    mean.exposed_us += static_cast<double>(middle->us(Doing::communicates));
    mean.waiting_us += static_cast<double>(middle->us(Doing::waits));
    ++count;
  }
  if (count == 0) return mean;
  for (double* part : {&mean.step_us, &mean.compute_us, &mean.exposed_us, &mean.waiting_us}) {
    *part /= static_cast<double>(count);
  }
  return mean;
}

}  // namespace infold::whatif
