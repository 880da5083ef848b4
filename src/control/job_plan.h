// SPDX-License-Identifier: Apache-2.0
//
// What a control plane has told of a job, as a plan. Whoever computes it from the same words gets
// the same numbers. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "control/registrar.h"
#include "core/aggregator/aggregator.h"
#include "plan/plan.h"

namespace infold::control {

// One of the control plane's own sites; all are alike. Ranks of a host that share memory have a
// place below it. So has a rack with a switch of its own, but not below a site at a rank, which all
// ranks reach themselves.
plan::Tree tree_of(const JobTerms& terms, bool at_rank = false);

// For a control plane that has sites: one of them stands for all.
plan::Plan plan_of(const JobTerms& terms);

// Of each of its sites: the root, or what sums for its rack.
core::AggregatorOptions aggregator_options(const JobTerms& terms);

// One rack is the whole job, whose switch then is the root.
bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world);

}  // namespace infold::control
