// SPDX-License-Identifier: Apache-2.0
//
// Turns a job's terms into a plan. Every party that computes the plan from the same terms gets the
// same worker numbers. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "core/aggregator/aggregator.h"
#include "join/registrar.h"
#include "plan/plan.h"

namespace infold::join {

// Returns the tree of one of the join server's own sites, which are all alike. Host groups are
// below it, and so are racks with a switch of their own. A site at a rank has no racks below it,
// because all ranks reach it directly.
plan::Tree tree_of(const JobTerms& terms, bool at_rank = false);

// Returns the tree of one of the sites that the terms name, with the abilities in its record. The
// weight is 1 if the site leaves it to the ranks.
plan::Tree tree_of(const JobTerms& terms, const SiteAddress& site);

// Returns a plan with the trees of all sites that the terms name.
plan::Plan plan_of_sites(const JobTerms& terms);

// Returns the plan of a join server that has sites. Its one tree stands for all of them.
plan::Plan plan_of(const JobTerms& terms);

// Returns the options for each of the plane's sites: those of the root, or of its rack's
// aggregator.
core::AggregatorOptions aggregator_options(const JobTerms& terms);

// Returns whether one rack is the whole job. Its switch is then the root.
bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world);

}  // namespace infold::join
