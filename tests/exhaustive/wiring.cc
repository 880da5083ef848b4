// SPDX-License-Identifier: Apache-2.0
//
// Makes the options of every machine of a case.
#include "tests/exhaustive/wiring.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "plan/driver_shares.h"

namespace infold::exhaustive {
namespace {

plan::Plan plan_of(const Case& model_case) {
  plan::Plan plan;
  plan.world = model_case.workers;
  plan.elements_max = kChunkElements;
  plan.small_slots = model_case.small_slots;
  plan.bulk_slots = model_case.slots;
  plan.brief_results = model_case.brief;
  if (model_case.leaves > 0) {
    CHECK(model_case.workers % model_case.leaves == 0);
    plan.trees = {plan::even_tree(plan.world, 2, model_case.leaves)};
  } else {
    plan.trees.assign(model_case.sites, plan::flat_tree(plan.world));
  }
  for (plan::Tree& tree : plan.trees) {
    tree.job = kJob;
    tree.epoch = model_case.epoch;
  }
  return plan;
}

}  // namespace

Wiring::Wiring(const Case& model_case)
    : case_(model_case), worker_count_(model_case.workers), plan_(plan_of(model_case)) {
  for (std::uint16_t rank = 0; rank < worker_count_; ++rank) {
    core::WorkerOptions& options = workers_.emplace_back(plan::worker_options(plan_, rank));
    options.transfers_max = 4;
    options.seed = rank + 1U;
    options.check_period = 1;
  }
  for (std::size_t tree = 0; tree < plan_.trees.size(); ++tree) add_tree(tree);
}

// Leaves come before their root, in the order in which the search numbers them.
void Wiring::add_tree(std::size_t tree) {
  const std::vector<plan::Aggregator>& aggregators = plan_.trees[tree].aggregators;
  const std::size_t first = worker_count_ + aggregators_.size();
  const auto node_of = [&](std::size_t aggregator) {
    const std::size_t place = aggregator == 0 ? aggregators.size() : aggregator;
    return static_cast<NodeIndex>(first + place - 1);
  };
  for (std::size_t i = 1; i <= aggregators.size(); ++i) {
    const std::size_t aggregator = i == aggregators.size() ? 0 : i;
    Place place;
    place.options = plan::aggregator_options(plan_, tree, static_cast<std::uint16_t>(aggregator));
    place.options.check_period = 1;
    if (aggregator != 0) place.parent = node_of(0);
    for (const plan::Child& child : aggregators[aggregator].children) {
      const NodeIndex node =
          child.is_rank() ? static_cast<NodeIndex>(child.ranks.first) : node_of(child.aggregator);
      place.below.push_back({node, static_cast<std::uint8_t>(child.is_rank() ? tree : 0)});
    }
    aggregators_.push_back(std::move(place));
  }
}

core::WorkerTeam Wiring::make_worker(NodeIndex node) const {
  return core::WorkerTeam(workers_[node], plan::driver_shares(plan_, case_.drivers));
}

core::AnyAggregator Wiring::make_aggregator(NodeIndex node) const {
  return core::AnyAggregator(aggregators_[node - worker_count_].options, case_.only_adds);
}

NodeIndex Wiring::site_of(NodeIndex worker, std::uint8_t site) const {
  if (case_.leaves == 0) return static_cast<NodeIndex>(worker_count_ + site);
  return static_cast<NodeIndex>(worker_count_ + worker / (worker_count_ / case_.leaves));
}

std::string Wiring::name(NodeIndex node) const {
  if (is_worker(node)) return "worker " + std::to_string(node);
  if (case_.leaves == 0 && case_.sites == 1) return "the aggregator";
  const std::uint32_t index = node - worker_count_;
  if (case_.leaves == 0) return "site " + std::to_string(index);
  return index < case_.leaves ? "leaf " + std::to_string(index) : "the root";
}

}  // namespace infold::exhaustive
