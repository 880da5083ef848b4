// SPDX-License-Identifier: Apache-2.0
#include "whatif/simulated_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "control/job_terms.h"
#include "core/stripe.h"
#include "plan/plan_text.h"
#include "whatif/transfers.h"
#include "wire/infold_wire.h"

namespace infold::whatif {
namespace {

// What a rank of ours asks for.
constexpr control::Slots kAsked = {64, 448};
constexpr std::uint32_t kTransfersMax = 1024;
constexpr std::uint32_t kChildrenMax = INFOLD_WORKERS_MAX;  // of an aggregator
// Of the network without a look at whoever wants to stop it: some tenths of a second.
constexpr std::uint32_t kStepsMax = 1 << 20;

// A tree for each host or rank that sums its share.
std::vector<plan::Tree> shares_of(const Setting& setting) {
  const bool at_ranks = setting.place == Place::workers;
  const std::uint16_t count = at_ranks ? setting.ranks : setting.parts;
  std::vector<plan::Tree> trees(count, plan::flat_tree(setting.ranks));
  for (std::uint16_t i = 0; i < count; ++i) {
    plan::Aggregator& root = trees[i].aggregators.front();
    root.place = at_ranks ? plan::Place::rank : plan::Place::server;
    if (at_ranks) root.rank = i;
  }
  return trees;
}

// The round trip is that between two hosts. With a switch in the path, a rank's packet turns round
// in the middle.
base::Duration link_delay(const Setting& setting) {
  const bool in_path = setting.place == Place::in_path || setting.place == Place::racks;
  return setting.round_trip / (in_path ? 4 : 2);
}

}  // namespace

sim::LinkOptions link_of(const Setting& setting) {
  return {.bits_per_second = static_cast<std::int64_t>(setting.bits_per_second),
          .delay = link_delay(setting),
          .queue_bytes_max = sim::port_queue_bytes(setting.bits_per_second),
          .overhead_bytes = std::int64_t{predict::udp_headers_bytes(setting.framing)} +
                            setting.framing.frame_bytes};
}

namespace {

sim::Scenario scenario_of(const Setting& setting) {
  sim::Scenario scenario;
  scenario.name = "what-if";
  scenario.seed = setting.seed;
  scenario.plan = plan_of(setting);
  scenario.check_period = 0;
  scenario.fingerprints = false;
  scenario.transfers_max = kTransfersMax;
  scenario.aggregators_are_hosts = setting.place == Place::hosts || setting.place == Place::workers;
  scenario.link = link_of(setting);
  scenario.up.loss = scenario.down.loss = setting.loss;
  return scenario;
}

}  // namespace

plan::Plan plan_of(const Setting& setting) {
  plan::Plan plan;
  plan.world = setting.ranks;
  plan.datagram_bytes_max = setting.framing.mtu - predict::udp_headers_bytes(setting.framing);
  const control::Slots slots = control::granted(kAsked, setting.slots, setting.slots);
  plan.small_slots = static_cast<std::uint16_t>(slots.small);
  plan.bulk_slots = static_cast<std::uint16_t>(slots.bulk);
  switch (setting.place) {
    case Place::racks: plan.trees = {plan::even_tree(setting.ranks, 2, setting.parts)}; break;
    case Place::hosts:
    case Place::workers: plan.trees = shares_of(setting); break;
    default: plan.trees = {plan::flat_tree(setting.ranks)};
  }
  return plan;
}

std::optional<std::string> find_obstacle(const Setting& setting) {
  if (setting.place == Place::racks && (setting.parts < 2 || setting.parts > setting.ranks / 2)) {
    return fmt::format("{} racks cannot hold two or more of {} ranks each", setting.parts,
                       setting.ranks);
  }
  if (setting.place == Place::workers && setting.ranks > core::Stripe::kSitesMax) {
    return fmt::format("{} ranks cannot all sum: a job has {} sites at most", setting.ranks,
                       core::Stripe::kSitesMax);
  }
  const bool is_flat = setting.place == Place::in_path || setting.place == Place::hosts;
  if (is_flat && setting.ranks > kChildrenMax) {
    return fmt::format("one switch or host has {} ranks at most; choose racks:N, such as racks:{}",
                       kChildrenMax, (setting.ranks + 31) / 32);
  }
  return plan::find_fault(plan_of(setting));
}

SimulatedCalls::SimulatedCalls(const Setting& setting)
    : setting_(setting),
      scenario_(scenario_of(setting)),
      no_calls_(scenario_),
      wiring_(sim::wire(scenario_, no_calls_)),
      made_(setting.ranks) {}

void SimulatedCalls::begin(base::Instant now, std::uint16_t rank, const trace::CallShape& shape) {
  wiring_.network->advance(now);
  const std::uint32_t number = made_[rank]++;
  ++moving_;
  add_call(*wiring_.workers[rank], now, transfers_of(shape, setting_), [this, rank, number] {
    --moving_;
    ended_.push_back({rank, number});
  });
  wiring_.network->wake(wiring_.worker_nodes[rank]);
}

base::Instant SimulatedCalls::run(base::Instant limit, std::vector<Ended>& ended) {
  if (limit == base::Instant::never() && moving_ == 0) return limit;
  for (std::uint32_t steps = 0; ended_.empty() && wiring_.network->step(limit); ++steps) {
    if (steps == kStepsMax) return wiring_.network->now();
  }
  if (ended_.empty()) return limit;
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  return wiring_.network->now();
}

}  // namespace infold::whatif
