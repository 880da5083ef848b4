// SPDX-License-Identifier: Apache-2.0
//
// A job's terms as a plan. Every party that computes the plan from the same terms gets the same
// worker numbers. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "core/aggregator/aggregator.h"
#include "join/registrar.h"
#include "plan/plan.h"

namespace infold::join {

// The tree of one of the join server's own sites; all are alike. Host groups have a place below
// it. So has a rack with a switch of its own, but not below a site at a rank, which all ranks reach
// themselves.
plan::Tree tree_of(const JobTerms& terms, bool at_rank = false);

// The tree of one of the sites that the terms name, with what its record says. The weight is 1
// where the site leaves it to the ranks.
plan::Tree tree_of(const JobTerms& terms, const SiteAddress& site);

// With the trees of all sites that the terms name.
plan::Plan plan_of_sites(const JobTerms& terms);

// For a join server that has sites. One of them stands for all.
plan::Plan plan_of(const JobTerms& terms);

// Of each of the plane's sites: the root's options, or those of its rack's aggregator.
core::AggregatorOptions aggregator_options(const JobTerms& terms);

// Whether one rack is the whole job. Its switch then is the root.
bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world);

}  // namespace infold::join
