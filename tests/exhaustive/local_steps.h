// SPDX-License-Identifier: Apache-2.0
//
// What each machine does, one input at a time, remembered. A machine's state is named by a small
// number; the same input to the same state is run on the real Worker or Aggregator once and looked
// up from then on. So the search walks over numbers, and every number stands for a real machine
// whose digest covers all that decides its future but time. Cases with check_digests do not take
// the digest's word for that: whenever two states are taken for one, both are given every packet
// known so far and must answer alike and stay alike.
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
  const core::Aggregator& aggregator(NodeIndex node, StateId state) const {
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
    std::vector<std::unique_ptr<core::Aggregator>> aggregators;
    std::unordered_map<std::uint64_t, StateId> by_digest;
    // By state, then by input; empty until it is run.
    std::vector<std::vector<std::unique_ptr<LocalStep>>> steps;
  };

  const LocalStep& look_up(NodeIndex node, StateId state, std::uint32_t input);
  LocalStep run(NodeIndex node, StateId state, std::uint32_t input);
  StateId keep(NodeIndex node, std::unique_ptr<WorkerState> worker, Effects& effects);
  StateId keep(NodeIndex node, std::unique_ptr<core::Aggregator> aggregator, Effects& effects);
  template <typename Machine>
  bool behave_alike(NodeIndex node, const Machine& known, const Machine& met);

  const Case& case_;
  Machines machines_;
  std::vector<Node> nodes_;
  std::vector<StateId> initial_;
};

}  // namespace infold::exhaustive
