// SPDX-License-Identifier: Apache-2.0
#include "join/job_plan.h"

#include <vector>

#include "base/check.h"

namespace infold::join {

plan::Tree tree_of(const JobTerms& terms, bool at_rank) {
  std::vector<core::RankRange> hosts;
  for (const HostGroup& group : terms.groups) hosts.push_back(group.ranks);
  const std::span<const core::RankRange> racks = terms.racks;
  plan::Tree tree = plan::tree_of(static_cast<std::uint16_t>(terms.world), hosts,
                                  at_rank ? racks.first(0) : racks);
  if (at_rank) tree.aggregators.front().place = plan::Place::rank;
  tree.job = terms.job;
  tree.epoch = terms.epoch;
  return tree;
}

plan::Tree tree_of(const JobTerms& terms, const SiteAddress& site) {
  plan::Tree tree = tree_of(terms, site.at_rank);
  if (site.weight != 0) tree.weight = static_cast<std::uint16_t>(site.weight);
  for (plan::Aggregator& aggregator : tree.aggregators) {
    // A host's ranks sum in memory, in an aggregator of ours, so the site's record does not matter.
    if (aggregator.place == plan::Place::host) continue;
    aggregator.takes_sparse = site.record.takes_sparse;
    aggregator.formats = site.record.formats;
    aggregator.is_big_endian = site.record.is_big_endian;
    aggregator.reductions = site.record.reductions;
  }
  return tree;
}

plan::Plan plan_of_sites(const JobTerms& terms) {
  plan::Plan plan = plan_of(terms);
  if (!plan.formats.has(core::WireFormat::native)) plan.native_types = terms.native_types;
  plan.trees.clear();
  for (const SiteAddress& site : terms.sites) plan.trees.push_back(tree_of(terms, site));
  return plan;
}

plan::Plan plan_of(const JobTerms& terms) {
  plan::Plan plan;
  plan.world = static_cast<std::uint16_t>(terms.world);
  plan.datagram_bytes_max = terms.datagram_bytes_max;
  plan.elements_max = terms.elements_max;
  plan.formats = terms.formats;
  plan.brief_results = terms.brief_results;
  plan.small_slots = terms.small_slots;
  plan.bulk_slots = terms.bulk_slots;
  plan.trees = {tree_of(terms)};
  return plan;
}

core::AggregatorOptions aggregator_options(const JobTerms& terms) {
  const plan::Plan plan = plan_of(terms);
  std::uint16_t own = 0;
  if (terms.below) {
    const auto rack =
        plan::find_aggregator(plan.trees.front(), plan::Place::rack, terms.below->rack);
    CHECK(rack);  // RackRelay takes it from the terms' racks
    own = *rack;
  }
  return plan::aggregator_options(plan, 0, own);
}

bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world) {
  return racks.size() == 1 && racks.front().count == world;
}

}  // namespace infold::join
