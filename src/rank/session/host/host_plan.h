// SPDX-License-Identifier: Apache-2.0
//
// Sums of one host's ranks in the memory that they share: the plan of a job on one host, the memory
// that a host group's ranks agree on, and the leaves at the group's leader. Pure.
#pragma once

#include <vector>

#include "control/registrar.h"
#include "core/aggregator/aggregator.h"
#include "io/memory/shared_memory_meeting.h"
#include "plan/plan.h"

namespace infold::rank {

// Ranks are the sites, each of the same share. They sum all that core can, and no packet has to fit
// a network.
// `network`: the job's plan as if it used the network.
plan::Plan one_host_plan(const plan::Plan& network, const control::JobTerms& terms);

// Of the memory between all ranks of a job with such a plan.
io::MeetingTerms one_host_meeting(const plan::Plan& plan, const control::JobTerms& terms);

// Of the memory between a leader and its group, for a job with this plan. Equal at all ranks of the
// group, so it depends on the groups that were proposed and not on those that came about.
io::MeetingTerms group_meeting(const plan::Plan& plan, const control::JobTerms& terms,
                               core::RankRange group);

// A leader's leaves, one for each site. To its group a leaf is the site; to the site it is one
// worker.
std::vector<core::AggregatorOptions> leaves_of(const plan::Plan& plan, core::RankRange group);

}  // namespace infold::rank
