// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <algorithm>

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::plan {
namespace {

core::SiteOptions site_options(const Tree& tree, std::uint16_t rank) {
  const Position position = position_of(tree, rank);
  const Aggregator& aggregator = tree.aggregators[position.aggregator];
  core::SiteOptions site;
  site.worker = position.worker;
  site.weight = tree.weight;
  site.job = tree.job;
  site.epoch = tree.epoch;
  const bool is_own = aggregator.place == Place::rank && aggregator.rank == rank;
  site.in_memory = is_own || (aggregator.place == Place::host && tree.aggregators.size() == 1);
  site.takes_sparse = aggregator.takes_sparse;
  // Take the formats of the tree's root, even if a rack or a host is in between, so that an error
  // about formats names the site.
  site.formats = tree.aggregators.front().formats;
  site.is_big_endian = aggregator.is_big_endian;
  site.reductions = tree.aggregators.front().reductions;
  return site;
}

}  // namespace

core::ChunkLimits limits_of(const Plan& plan) {
  core::ChunkLimits limits;
  limits.datagram_bytes_max = plan.datagram_bytes_max;
  limits.elements_max = plan.elements_max;
  limits.tree = std::any_of(plan.trees.begin(), plan.trees.end(),
                            [](const Tree& tree) { return tree.aggregators.size() > 1; });
  return limits;
}

bool holds_all_layouts(const core::ChunkLimits& limits, core::FormatSet formats) {
  constexpr core::ElementLayout kLongestBlocks = {core::WireFormat::bfp32, core::DataType::f64};
  core::ChunkLimits of_a_block = limits;
  of_a_block.elements_max = std::min(limits.elements_max, kLongestBlocks.block_elements());
  for (int format = INFOLD_FORMAT_I8; format < INFOLD_FORMAT_COUNT; ++format) {
    if (!formats.has(static_cast<core::WireFormat>(format))) continue;
    for (int dtype = INFOLD_DTYPE_F32; dtype <= INFOLD_DTYPE_I64; ++dtype) {
      const core::ElementLayout layout = {static_cast<core::WireFormat>(format),
                                          static_cast<core::DataType>(dtype)};
      if (layout.is_native() && !core::is_float(layout.dtype)) continue;
      if (core::chunk_elements(layout, of_a_block) == 0) return false;
    }
  }
  return true;
}

Position position_of(const Tree& tree, std::uint16_t rank) {
  Position position;
  while (true) {
    const std::vector<Child>& children = tree.aggregators[position.aggregator].children;
    const auto place = std::find_if(children.begin(), children.end(), [rank](const Child& child) {
      return core::contains(child.ranks, rank);
    });
    CHECK(place != children.end());
    position.worker = static_cast<std::uint8_t>(place - children.begin());
    if (place->is_rank()) return position;
    position.aggregator = place->aggregator;
  }
}

std::optional<Position> position_of_aggregator(const Tree& tree, std::uint16_t aggregator) {
  if (aggregator == 0) return std::nullopt;
  for (std::size_t parent = 0; parent < aggregator; ++parent) {
    const std::vector<Child>& children = tree.aggregators[parent].children;
    for (std::size_t child = 0; child < children.size(); ++child) {
      if (children[child].aggregator != aggregator) continue;
      return Position{static_cast<std::uint16_t>(parent), static_cast<std::uint8_t>(child)};
    }
  }
  CHECK(false);
  return std::nullopt;
}

core::WorkerOptions worker_options(const Plan& plan, std::uint16_t rank) {
  core::WorkerOptions options;
  options.rank = rank;
  options.world = plan.world;
  options.limits = limits_of(plan);
  options.formats = plan.formats;
  if (!options.limits.tree) options.native_types = plan.native_types;
  options.small_slots = plan.small_slots;
  options.bulk_slots = plan.bulk_slots;
  for (const Tree& tree : plan.trees) options.sites.push_back(site_options(tree, rank));
  return options;
}

core::AggregatorOptions aggregator_options(const Plan& plan, std::size_t tree,
                                           std::uint16_t aggregator) {
  const Tree& site = plan.trees[tree];
  core::AggregatorOptions options;
  options.job = site.job;
  options.epoch = site.epoch;
  options.slot_count = plan.slots();
  options.world = plan.world;
  for (const Child& child : site.aggregators[aggregator].children) {
    if (child.is_rank()) {
      options.workers.push_back(child.ranks);
    } else {
      options.add_aggregator(child.ranks);
    }
  }
  if (const auto position = position_of_aggregator(site, aggregator))
    options.parent_worker = position->worker;
  options.datagram_bytes_max = plan.datagram_bytes_max;
  options.elements_max = plan.elements_max;
  options.brief_results = plan.brief_results;
  options.is_big_endian = site.aggregators[aggregator].is_big_endian;
  options.arithmetic = &numeric::arithmetic();
  return options;
}

void set_takes_sparse(Tree& tree, bool takes) {
  for (Aggregator& each : tree.aggregators) each.takes_sparse = takes;
}

std::optional<std::uint16_t> find_aggregator(const Tree& tree, Place place, core::RankRange ranks) {
  for (const Aggregator& aggregator : tree.aggregators) {
    for (const Child& child : aggregator.children) {
      if (child.is_rank() || child.ranks != ranks) continue;
      if (tree.aggregators[child.aggregator].place == place) return child.aggregator;
    }
  }
  return std::nullopt;
}

}  // namespace infold::plan
