// SPDX-License-Identifier: Apache-2.0
//
// Turns the question into a scenario of the simulator.
#include "study/reproduce/switch_sum.h"

#include <algorithm>

#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::reproduce {
namespace {

constexpr std::uint16_t kSmallSlots = 64;
// The queue of a switch's port, and the part of it that a host fills before it waits.
constexpr std::int64_t kPortQueueBytes = 1 << 20;
constexpr std::int64_t kHostQueueBytes = 256 * 1024;
constexpr base::Duration kPatience = base::seconds(1'000);

sim::Scenario scenario_of(const SwitchSum& sum) {
  sim::Scenario scenario;
  scenario.name = "reproduce";
  scenario.seed = sum.seed;
  scenario.plan.world = sum.workers;
  scenario.plan.elements_max = sum.packet_elements;
  scenario.plan.small_slots = kSmallSlots;
  scenario.plan.bulk_slots = sum.slots;
  scenario.plan.trees = {plan::flat_tree(sum.workers)};
  scenario.only_adds = sum.only_adds;
  plan::set_takes_sparse(scenario.plan.trees.front(), !sum.only_adds);
  sim::CallPlan call = sum.only_adds ? sim::sum_of_integers(sum.elements)
                                     : sim::sum_of_floats(core::WireFormat::bfp32, sum.elements);
  call.bulk = true;
  scenario.calls.assign(sum.tensors, call);
  for (std::size_t i = 0; i < sum.gaps.size(); ++i) scenario.calls[i].gap = sum.gaps[i];
  for (std::size_t i = 0; i < sum.sizes.size(); ++i) scenario.calls[i].elements = sum.sizes[i];
  scenario.link = {.bits_per_second = sum.bits_per_second,
                   .delay = sum.round_trip / 2,
                   .queue_bytes_max = kPortQueueBytes};
  scenario.link.overhead_bytes -= sum.frame_bytes_less;
  scenario.host_queue_bytes = kHostQueueBytes;
  scenario.up.loss = scenario.down.loss = sum.loss;
  scenario.check_period = 0;
  scenario.fingerprints = false;
  scenario.liveness = kPatience;
  return scenario;
}

}  // namespace

SwitchSumTimes run(const SwitchSum& sum) {
  sim::Simulation simulation(scenario_of(sum));
  const sim::Outcome outcome = simulation.run();
  SwitchSumTimes times;
  times.wrong = outcome.wrong;
  times.packets_sent = outcome.network.sent;
  times.packets_lost = outcome.network.dropped[static_cast<std::size_t>(sim::DropCause::loss)];
  times.retransmits = outcome.workers.resent_timeout + outcome.workers.resent_asked;
  for (std::size_t call = 0; call < simulation.scenario().calls.size(); ++call) {
    base::Instant last;
    for (const sim::WorkerNode* worker : simulation.wiring().workers) {
      last = std::max(last, worker->records()[call].finished_at);
    }
    times.done_s.push_back(static_cast<double>(last.ns) * 1e-9);
  }
  return times;
}

}  // namespace infold::reproduce
