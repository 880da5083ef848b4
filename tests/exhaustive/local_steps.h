// SPDX-License-Identifier: Apache-2.0
//
// A table of the steps of each machine, one input at a time. A small number names a machine's
// state. The real Worker or Aggregator runs each pair of state and input once; from then on, the
// table has the outcome. The search thus walks over numbers, each of which stands for a real
// machine. A machine's digest covers all of its state except time. Cases with check_digests test
// the digests: two states with one digest must answer every packet known so far alike, and must
// have one digest afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/exhaustive/machines.h"

namespace infold::exhaustive {

using StateId = std::uint32_t;

struct LocalStep : Effects {
  StateId next = 0;
};

class LocalSteps {
 public:
  explicit LocalSteps(const Case& model_case);

  StateId initial(NodeIndex node) const { return initial_[node]; }
  const LocalStep& deliver(NodeIndex node, StateId state, PacketId packet);
  const LocalStep& command(NodeIndex node, StateId state, Command command);

  const WorkerState& worker(NodeIndex node, StateId state) const {
    return *nodes_[node].workers[state];
  }
  const core::AnyAggregator& aggregator(NodeIndex node, StateId state) const {
    return *nodes_[node].aggregators[state];
  }
  const WorkerFacts& facts(NodeIndex node, StateId state) const {
    return worker(node, state).facts;
  }
  bool has_timer(NodeIndex node, StateId state) const {
    return worker(node, state).machine.poll_timeout().has_value();
  }
  Machines& machines() { return machines_; }
  const Machines& machines() const { return machines_; }
  const Wiring& wiring() const { return machines_.wiring(); }

 private:
  struct Node {
    std::vector<std::unique_ptr<WorkerState>> workers;
    std::vector<std::unique_ptr<core::AnyAggregator>> aggregators;
    std::unordered_map<std::uint64_t, StateId> by_digest;
    // By state, then by input. An entry is empty until it has run.
    std::vector<std::vector<std::unique_ptr<LocalStep>>> steps;
  };

  const LocalStep& look_up(NodeIndex node, StateId state, std::uint32_t input);
  LocalStep run(NodeIndex node, StateId state, std::uint32_t input);
  StateId keep(NodeIndex node, std::unique_ptr<WorkerState> worker, Effects& effects);
  StateId keep(NodeIndex node, std::unique_ptr<core::AnyAggregator> aggregator, Effects& effects);
  template <typename Machine>
  bool behave_alike(NodeIndex node, const Machine& known, const Machine& met);

  const Case& case_;
  Machines machines_;
  std::vector<Node> nodes_;
  std::vector<StateId> initial_;
};

}  // namespace infold::exhaustive
