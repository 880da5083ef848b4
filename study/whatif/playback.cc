// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/playback.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "study/whatif/interference.h"
#include "trace/feeder.h"
#include "trace/views/summary.h"

namespace infold::whatif {
namespace {

using base::Duration;
using base::Instant;
using trace::Node;
using trace::NodeType;

constexpr const char* kStopped = "stopped on request";

std::uint64_t microseconds_of(Instant time) {
  return static_cast<std::uint64_t>((time.ns + 500) / 1000);
}

// Plays one rank's program.
class Player {
 public:
  Player(const trace::Trace& trace, std::uint16_t rank, const Groups& groups, double interference)
      : trace_(trace),
        rank_(rank),
        groups_(groups),
        slowdown_(1 + interference),
        feeder_(trace),
        works_us_(works_us(trace, interference)),
        begun_(trace.nodes.size()),
        done_(trace.nodes.size()) {}

  bool is_finished() const { return feeder_.is_finished(); }
  bool waits_for_calls() const { return calls_moving_ > 0; }

  Instant next_compute_end() const {
    return computes_.empty() ? Instant::never() : computes_.begin()->first;
  }

  void end_call(Instant now, std::uint32_t call) {
    finish(now, calls_[call]);
    if (--calls_moving_ == 0) change_speed(now, 1 / slowdown_);
  }

  // Ends the computes that are due, and begins what can begin.
  void act(Instant now, Calls& calls) {
    while (next_compute_end() <= now) {
      finish(now, computes_.begin()->second);
      computes_.erase(computes_.begin());
    }
    while (const auto node = feeder_.next()) begin(now, *node, calls);
  }

  trace::Trace played() const {
    trace::Trace played = trace_;
    for (std::size_t i = 0; i < played.nodes.size(); ++i) {
      Node& node = played.nodes[i];
      node.start_us = microseconds_of(begun_[i]);
      node.duration_us = microseconds_of(done_[i]) - node.start_us;
    }
    return played;
  }

 private:
  void begin(Instant now, std::size_t number, Calls& calls) {
    const Node& node = trace_.nodes[number];
    begun_[number] = now;
    if (node.type == NodeType::metadata) {
      // A step begins where the previous one has ended.
      if (node.name == "step") begun_[number] = std::exchange(step_began_at_, now);
      finish(now, number);
      return;
    }
    if (const auto collective = trace::collective_of(node)) {
      const RankCall call = {rank_, number_of(groups_, collective->group),
                             static_cast<std::uint32_t>(calls_.size())};
      calls_.push_back(number);
      if (calls_moving_++ == 0) change_speed(now, slowdown_);
      calls.begin(now, call, trace::shape_of(*collective, groups_[call.group].size()));
      return;
    }
    const double us = works_us_[number] * (calls_moving_ > 0 ? slowdown_ : 1);
    computes_.emplace(now + Duration{static_cast<std::int64_t>(us * 1000)}, number);
  }

  void finish(Instant now, std::size_t node) {
    done_[node] = now;
    feeder_.done(node);
  }

  void change_speed(Instant now, double factor) {
    if (factor == 1) return;
    std::multimap<Instant, std::size_t> changed;
    for (const auto& [ends_at, node] : computes_) {
      const auto left = static_cast<double>((ends_at - now).ns);
      changed.emplace(now + Duration{static_cast<std::int64_t>(left * factor)}, node);
    }
    computes_ = std::move(changed);
  }

  const trace::Trace& trace_;
  const std::uint16_t rank_;
  const Groups& groups_;
  const double slowdown_;
  trace::Feeder feeder_;
  const std::vector<double> works_us_;
  std::vector<Instant> begun_;  // for each node
  std::vector<Instant> done_;
  std::multimap<Instant, std::size_t> computes_;  // running ones, by their ends
  std::vector<std::size_t> calls_;                // nodes, in the order of calls
  std::uint32_t calls_moving_ = 0;
  Instant step_began_at_;
};

}  // namespace

tl::expected<std::vector<trace::Trace>, std::string> play(
    std::span<const trace::Trace* const> traces, Calls& calls, const PlaybackOptions& options) {
  const auto ranks = static_cast<std::uint16_t>(traces.size());
  const Groups groups = options.groups.empty() ? group_of_all(ranks) : options.groups;
  std::vector<Player> players;
  players.reserve(ranks);
  for (std::uint16_t rank = 0; rank < ranks; ++rank) {
    players.emplace_back(*traces[rank], rank, groups, options.interference);
  }
  Instant now;
  std::vector<RankCall> ended;
  while (true) {
    for (Player& player : players) player.act(now, calls);
    if (std::all_of(players.begin(), players.end(),
                    [](const Player& player) { return player.is_finished(); })) {
      break;
    }
    Instant next = Instant::never();
    for (const Player& player : players) next = std::min(next, player.next_compute_end());
    if (options.stop && options.stop()) return tl::unexpected(std::string(kStopped));
    ended.clear();
    now = calls.run(next, ended);
    if (now == Instant::never()) {
      return tl::unexpected(
          std::string("calls of the traces do not end: the ranks do not make the "
                      "same ones, or the links lose too many packets"));
    }
    for (const RankCall& each : ended) players[each.rank].end_call(now, each.number);
  }
  std::vector<trace::Trace> played;
  for (const Player& player : players) played.push_back(player.played());
  return played;
}

}  // namespace infold::whatif
