// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/calls/simulated_calls.h"

#include <algorithm>
#include <utility>

#include "base/prng.h"
#include "study/whatif/calls/transfers.h"

namespace infold::whatif {
namespace {

constexpr std::uint32_t kTransfersMax = 1024;
// A host buffers this much in its own queue before it waits.
constexpr std::int64_t kHostQueueBytes = 128 * 1024;
// The most network steps without asking whether somebody wants to stop: some tenths of a second.
constexpr std::uint32_t kStepsMax = 1 << 20;

}  // namespace

SimulatedCalls::SimulatedCalls(const Setting& setting, const Groups& groups,
                               const std::vector<plan::Plan>& plans)
    : cluster_(cluster_of(setting, plans)) {
  const std::vector<sim::HostIndex> hosts = hosts_of(setting);
  for (std::size_t number = 0; number < groups.size(); ++number) {
    GroupMachines& group = groups_.emplace_back();
    group.setting = setting;
    group.setting.ranks = groups[number].size();
    group.ranks = groups[number].ranks;
    if (group.ranks.size() == 1) continue;
    group.begun.resize(group.ranks.size());
    group.ended.resize(group.ranks.size());
    std::vector<sim::HostIndex> own;
    for (const std::uint16_t rank : group.ranks) own.push_back(hosts[rank]);
    const plan::Plan& plan = plans[number];
    group.job = cluster_.add_job(plan, own, [&](std::uint16_t member) {
      sim::WorkerNodeOptions node;
      node.worker = plan::worker_options(plan, member);
      node.worker.transfers_max = kTransfersMax;
      node.worker.seed = base::mix64(setting.seed + (number << 16U) + member);
      node.host_queue_bytes = kHostQueueBytes;
      return node;
    });
  }
}

void SimulatedCalls::begin(base::Instant now, const RankCall& call, const trace::CallShape& shape) {
  sim::Network& network = cluster_.network();
  network.advance(now);
  GroupMachines& group = groups_[call.group];
  if (group.ranks.size() == 1) {
    ended_.push_back(call);
    return;
  }
  const auto member = static_cast<std::size_t>(
      std::find(group.ranks.begin(), group.ranks.end(), call.rank) - group.ranks.begin());
  ++group.begun[member];
  add_call(*group.job.workers[member], now, transfers_of(shape, group.setting),
           [this, call, member] {
             ++groups_[call.group].ended[member];
             ended_.push_back(call);
           });
  network.wake(group.job.worker_nodes[member]);
}

// A call that all members have begun will end at all of them.
bool SimulatedCalls::GroupMachines::waits_for_a_member() const {
  if (begun.empty()) return true;
  const std::uint64_t whole = *std::min_element(begun.begin(), begun.end());
  return std::all_of(ended.begin(), ended.end(),
                     [whole](std::uint64_t each) { return each >= whole; });
}

bool SimulatedCalls::is_stuck() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const GroupMachines& group) { return group.waits_for_a_member(); });
}

base::Instant SimulatedCalls::run(base::Instant limit, std::vector<RankCall>& ended) {
  sim::Network& network = cluster_.network();
  if (limit == base::Instant::never() && ended_.empty() && is_stuck()) return limit;
  for (std::uint32_t steps = 0; ended_.empty() && network.step(limit); ++steps) {
    if (steps == kStepsMax) return network.now();
  }
  if (ended_.empty()) return limit;
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  return network.now();
}

}  // namespace infold::whatif
