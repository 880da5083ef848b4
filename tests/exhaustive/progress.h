// SPDX-License-Identifier: Apache-2.0
//
// Checks that all transfers complete once the network has no faults. First, all packets in flight
// are lost. From then on packets arrive once and in order, and timers fire only if no packet is
// left. States in which some of the packets still arrive are other states of the search, and get
// the same check. The runs use copies of the real machines with their real clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/exhaustive/local_steps.h"

namespace infold::exhaustive {

class Progress {
 public:
  explicit Progress(LocalSteps& steps) : steps_(steps) {}

  // Empty if everything completes, else the error.
  std::string check(const std::vector<StateId>& states);
  // The longest run needed, in inputs to machines.
  std::uint32_t inputs_max() const { return inputs_max_; }

 private:
  bool all_done() const;
  bool fire_timers();
  void deliver_first();
  void take(const Effects& effects);

  LocalSteps& steps_;
  std::vector<WorkerState> workers_;
  std::vector<core::AnyAggregator> aggregators_;
  std::deque<PacketId> wires_;
  std::string complaint_;
  std::uint32_t inputs_ = 0;
  std::uint32_t inputs_max_ = 0;
};

}  // namespace infold::exhaustive
