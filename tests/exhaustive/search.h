// SPDX-License-Identifier: Apache-2.0
//
// Breadth-first search over all states of a case. A state is the machines' states, the packets in
// the network, and the rest of the budget. Every state is checked for safety when it is reached.
// Each distinct combination of machine states is checked for progress.
//
// In the monotone model, the search takes a step at once if it changes no machine and only sends
// packets. More packets in the network never forbid a step, so the states before it add no
// behaviour. This loses nothing and keeps the number of states small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/exhaustive/flat_set.h"
#include "tests/exhaustive/local_steps.h"
#include "tests/exhaustive/progress.h"

namespace infold::exhaustive {

enum class ActionKind : std::uint8_t {
  deliver,
  duplicate,
  lose,
  submit,
  expire_first,
  expire_all,
  cancel
};

struct Action {
  ActionKind kind = ActionKind::deliver;
  std::uint16_t value = 0;  // a PacketId, or the worker's node
};

struct Outcome {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t machine_combinations = 0;  // each checked for progress
  std::uint32_t depth = 0;
  std::uint32_t packets = 0;  // different packets
  std::uint64_t machine_runs = 0;
  std::uint32_t progress_inputs_max = 0;
  double seconds = 0;
  bool exhausted = false;     // every reachable state was visited
  std::string violation;      // empty if there is no violation
  std::vector<Action> trace;  // the steps to it
};

// One state, unpacked. `packets` is sorted. In the monotone model it has each packet at most once.
struct GlobalState {
  std::vector<StateId> machines;
  Budget left;
  bool may_cancel = false;
  std::vector<PacketId> packets;
};

class Search {
 public:
  explicit Search(const Case& model_case);

  Outcome run();

  // For narration: the first state, and the state after an action. `implied` gets the steps that
  // were taken at once, in order, with the packets of each.
  struct Implied {
    NodeIndex node = 0;
    bool by_timer = false;
    PacketId packet = 0;
    std::vector<PacketId> sent;
  };
  GlobalState first_state() const;
  // Returns a complaint, which is empty if the step is right. `step` gets the machine's step, or
  // null.
  std::string apply(GlobalState& state, Action action, const LocalStep** step,
                    std::vector<Implied>* implied);
  Machines& machines() { return steps_.machines(); }

 private:
  void add_packets_of_earlier_job();
  void expand(const GlobalState& state);
  void visit(const GlobalState& from, Action action);
  bool changes_nothing(const GlobalState& state, Action action);
  void saturate(GlobalState& state, NodeIndex node, std::vector<PacketId> fresh,
                std::vector<Implied>* implied);
  void imply(GlobalState& state, const LocalStep& step, Implied what, std::vector<PacketId>& fresh,
             std::vector<Implied>* implied);
  std::string judge_reuse(const GlobalState& state, NodeIndex node, ChunkId before) const;
  std::string judge(const GlobalState& state, NodeIndex node, const LocalStep& step) const;
  void pack(const GlobalState& state);
  GlobalState unpack(std::size_t begin, std::size_t end) const;
  bool is_monotone() const { return case_.model == Model::monotone; }

  const Case case_;
  std::vector<PacketId> first_packets_;  // the packets of an earlier job
  LocalSteps steps_;
  Progress progress_;
  FlatSet visited_;
  FlatSet combinations_;
  Outcome outcome_;

  // The breadth-first frontier: packed states back to back, this level and the next.
  std::vector<std::uint16_t> packed_;
  std::vector<std::uint16_t> level_;
  std::vector<std::uint16_t> next_level_;
  struct Origin {
    std::uint32_t parent = 0;
    Action action;
  };
  std::vector<Origin> origins_;  // the origin of each state, in the order of visiting
  std::uint32_t expanding_ = 0;
};

}  // namespace infold::exhaustive
