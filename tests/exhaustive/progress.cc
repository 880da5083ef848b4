// SPDX-License-Identifier: Apache-2.0
//
// Runs the network without faults.
#include "tests/exhaustive/progress.h"

#include <algorithm>

namespace infold::exhaustive {
namespace {

// A recovery takes tens of inputs, so thousands of inputs are a livelock.
constexpr std::uint32_t kInputsMax = 4096;

}  // namespace

std::string Progress::check(const std::vector<StateId>& states) {
  workers_.clear();
  aggregators_.clear();
  wires_.clear();
  complaint_.clear();
  inputs_ = 0;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const auto node = static_cast<NodeIndex>(i);
    if (steps_.wiring().is_worker(node)) {
      workers_.push_back(steps_.worker(node, states[i]));
    } else {
      aggregators_.push_back(steps_.aggregator(node, states[i]));
    }
  }
  while (complaint_.empty()) {
    if (inputs_ > kInputsMax) return "NO PROGRESS: not complete after 4096 inputs without loss";
    if (!wires_.empty()) {
      deliver_first();
    } else if (all_done()) {
      break;
    } else if (!fire_timers()) {
      return "NO PROGRESS: nothing in flight, no timer, not complete";
    }
  }
  inputs_max_ = std::max(inputs_max_, inputs_);
  return complaint_;
}

bool Progress::all_done() const {
  const std::uint32_t tensors = steps_.machines().oracle().tensor_count();
  return std::all_of(workers_.begin(), workers_.end(), [tensors](const WorkerState& worker) {
    return worker.facts.submitted > 0 && (worker.facts.finished == tensors || worker.facts.failed);
  });
}

bool Progress::fire_timers() {
  bool fired = false;
  for (std::uint32_t i = 0; i < workers_.size(); ++i) {
    const auto node = static_cast<NodeIndex>(i);
    const bool submitted = workers_[i].facts.submitted > 0;
    if (submitted && !workers_[i].machine.poll_timeout()) continue;
    fired = true;
    take(steps_.machines().command(node, workers_[i],
                                   submitted ? Command::expire_first : Command::submit));
  }
  return fired;
}

void Progress::deliver_first() {
  const PacketId packet = wires_.front();
  wires_.pop_front();
  const NodeIndex node = steps_.machines().packet(packet).to.node;
  if (steps_.wiring().is_worker(node)) {
    take(steps_.machines().deliver(node, workers_[node], packet));
  } else {
    take(steps_.machines().deliver(node, aggregators_[node - workers_.size()], packet));
  }
}

void Progress::take(const Effects& effects) {
  ++inputs_;
  if (complaint_.empty()) complaint_ = effects.complaint;
  wires_.insert(wires_.end(), effects.sent.begin(), effects.sent.end());
}

}  // namespace infold::exhaustive
