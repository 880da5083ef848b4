// SPDX-License-Identifier: Apache-2.0
//
// Numbers the states, and fills the table of steps.
#include "tests/exhaustive/local_steps.h"

#include <algorithm>

#include "base/prng.h"

namespace infold::exhaustive {
namespace {

// Inputs below this number are commands. The others are packets.
constexpr std::uint32_t kCommandCount = static_cast<std::uint32_t>(Command::count_);

std::uint64_t join(std::uint64_t hash, std::uint64_t value) {
  return base::mix64(hash * 0x9E3779B97F4A7C15ULL + value + 1);
}

std::uint64_t digest_of(const WorkerState& worker) {
  const WorkerFacts& facts = worker.facts;
  std::uint64_t digest = join(worker.machine.digest(), facts.results);
  digest = join(digest, facts.chunks);
  digest = join(digest, std::uint64_t{facts.submitted} << 32 | facts.finished);
  return join(digest, facts.failed ? 1 : 0);
}

std::uint64_t digest_of(const core::AnyAggregator& aggregator) { return aggregator.digest(); }

}  // namespace

LocalSteps::LocalSteps(const Case& model_case)
    : case_(model_case), machines_(model_case), nodes_(wiring().node_count()) {
  Effects none;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto node = static_cast<NodeIndex>(i);
    if (wiring().is_worker(node)) {
      initial_.push_back(keep(node,
                              std::make_unique<WorkerState>(
                                  WorkerState{wiring().make_worker(node), base::Instant{}, {}}),
                              none));
    } else {
      initial_.push_back(
          keep(node, std::make_unique<core::AnyAggregator>(wiring().make_aggregator(node)), none));
    }
  }
}

const LocalStep& LocalSteps::deliver(NodeIndex node, StateId state, PacketId packet) {
  return look_up(node, state, kCommandCount + packet);
}

const LocalStep& LocalSteps::command(NodeIndex node, StateId state, Command command) {
  return look_up(node, state, static_cast<std::uint32_t>(command));
}

const LocalStep& LocalSteps::look_up(NodeIndex node, StateId state, std::uint32_t input) {
  auto& by_state = nodes_[node].steps;
  if (by_state.size() <= state) by_state.resize(state + std::size_t{1});
  if (by_state[state].size() <= input) by_state[state].resize(input + std::size_t{1});
  // A run may add states, which moves the table.
  if (!by_state[state][input]) {
    auto step = std::make_unique<LocalStep>(run(node, state, input));
    by_state[state][input] = std::move(step);
  }
  return *by_state[state][input];
}

LocalStep LocalSteps::run(NodeIndex node, StateId state, std::uint32_t input) {
  LocalStep step;
  Effects& effects = step;
  const auto packet = static_cast<PacketId>(input - kCommandCount);
  if (wiring().is_worker(node)) {
    auto copy = std::make_unique<WorkerState>(worker(node, state));
    effects = input < kCommandCount ? machines_.command(node, *copy, static_cast<Command>(input))
                                    : machines_.deliver(node, *copy, packet);
    step.next = keep(node, std::move(copy), effects);
  } else {
    auto copy = std::make_unique<core::AnyAggregator>(aggregator(node, state));
    effects = machines_.deliver(node, *copy, packet);
    step.next = keep(node, std::move(copy), effects);
  }
  return step;
}

template <typename Machine>
bool LocalSteps::behave_alike(NodeIndex node, const Machine& known, const Machine& met) {
  for (std::uint32_t i = 0; i < machines_.packet_count(); ++i) {
    const auto packet = static_cast<PacketId>(i);
    if (machines_.packet(packet).to.node != node) continue;
    Machine one = known;
    Machine other = met;
    // The digest does not say who sends first, because the network does not keep the order.
    const auto same_sends = [&] {
      const std::vector<PacketId> sent = machines_.deliver(node, one, packet).sent;
      const std::vector<PacketId> also = machines_.deliver(node, other, packet).sent;
      return std::is_permutation(sent.begin(), sent.end(), also.begin(), also.end());
    };
    if (!same_sends() || digest_of(one) != digest_of(other)) return false;
  }
  return true;
}

StateId LocalSteps::keep(NodeIndex node, std::unique_ptr<WorkerState> worker, Effects& effects) {
  Node& home = nodes_[node];
  const auto [place, is_new] =
      home.by_digest.try_emplace(digest_of(*worker), static_cast<StateId>(home.workers.size()));
  if (is_new) {
    home.workers.push_back(std::move(worker));
  } else if (case_.check_digests && !behave_alike(node, *home.workers[place->second], *worker)) {
    effects.complaint = "DIGEST: two worker states with one digest behave differently";
  }
  return place->second;
}

StateId LocalSteps::keep(NodeIndex node, std::unique_ptr<core::AnyAggregator> aggregator,
                         Effects& effects) {
  Node& home = nodes_[node];
  const auto [place, is_new] = home.by_digest.try_emplace(
      digest_of(*aggregator), static_cast<StateId>(home.aggregators.size()));
  if (is_new) {
    home.aggregators.push_back(std::move(aggregator));
  } else if (case_.check_digests &&
             !behave_alike(node, *home.aggregators[place->second], *aggregator)) {
    effects.complaint = "DIGEST: two aggregator states with one digest behave differently";
  }
  return place->second;
}

}  // namespace infold::exhaustive
