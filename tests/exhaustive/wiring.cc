// SPDX-License-Identifier: Apache-2.0
//
// Options of every machine of a case.
#include "tests/exhaustive/wiring.h"

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::exhaustive {
namespace {

core::ChunkLimits limits_of(const Case& model_case) {
  core::ChunkLimits limits;
  limits.tree = model_case.leaves > 0;
  limits.elements_max = kChunkElements;
  limits.datagram_bytes_max = 1472;
  return limits;
}

}  // namespace

Wiring::Wiring(const Case& model_case)
    : case_(model_case), worker_count_(model_case.workers), limits_(limits_of(model_case)) {
  for (std::uint16_t rank = 0; rank < worker_count_; ++rank) {
    core::WorkerOptions options;
    options.rank = rank;
    options.world = case_.workers;
    options.limits = limits_;
    options.small_slots = case_.small_slots;
    options.bulk_slots = case_.slots;
    options.transfers_max = 4;
    options.seed = rank + 1U;
    workers_.push_back(options);
  }
  if (case_.leaves > 0) {
    add_tree();
  } else {
    add_sites();
  }
}

core::AggregatorOptions Wiring::aggregator_options() const {
  core::AggregatorOptions options;
  options.job = kJob;
  options.epoch = case_.epoch;
  options.slot_count = static_cast<std::uint16_t>(case_.slots + case_.small_slots);
  options.world = case_.workers;
  options.datagram_bytes_max = limits_.datagram_bytes_max;
  options.elements_max = limits_.elements_max;
  options.arithmetic = &numeric::arithmetic();
  return options;
}

void Wiring::add_sites() {
  for (std::uint8_t site = 0; site < case_.sites; ++site) {
    Place place;
    place.options = aggregator_options();
    for (std::uint16_t rank = 0; rank < worker_count_; ++rank) {
      place.options.workers.push_back({rank, 1});
      place.below.push_back({static_cast<NodeIndex>(rank), site});
      workers_[rank].sites.push_back({.worker = static_cast<std::uint8_t>(rank),
                                      .job = kJob,
                                      .epoch = case_.epoch,
                                      .takes_sparse = true});
    }
    aggregators_.push_back(place);
  }
}

void Wiring::add_tree() {
  CHECK(worker_count_ % case_.leaves == 0);
  const auto per_leaf = static_cast<std::uint16_t>(worker_count_ / case_.leaves);
  const auto root_node = static_cast<NodeIndex>(worker_count_ + case_.leaves);
  Place root;
  root.options = aggregator_options();
  for (std::uint16_t leaf = 0; leaf < case_.leaves; ++leaf) {
    Place place;
    place.options = aggregator_options();
    place.options.parent_worker = static_cast<std::uint8_t>(leaf);
    place.parent = root_node;
    const auto first = static_cast<std::uint16_t>(leaf * per_leaf);
    for (std::uint16_t i = 0; i < per_leaf; ++i) {
      const auto rank = static_cast<std::uint16_t>(first + i);
      place.options.workers.push_back({rank, 1});
      place.below.push_back({static_cast<NodeIndex>(rank), 0});
      workers_[rank].sites.push_back({.worker = static_cast<std::uint8_t>(i),
                                      .job = kJob,
                                      .epoch = case_.epoch,
                                      .takes_sparse = true});
    }
    aggregators_.push_back(place);
    root.options.add_aggregator({first, per_leaf});
    root.below.push_back({static_cast<NodeIndex>(worker_count_ + leaf), 0});
  }
  aggregators_.push_back(root);
}

core::Worker Wiring::make_worker(NodeIndex node) const { return core::Worker(workers_[node]); }

core::Aggregator Wiring::make_aggregator(NodeIndex node) const {
  return core::Aggregator(aggregators_[node - worker_count_].options);
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
