// SPDX-License-Identifier: Apache-2.0
//
// How ranks of one host sum in the memory that they share: the plan of a job on one host, the
// memory that a host group's ranks agree on, and the leaves at the group's leader. Pure functions.
#pragma once

#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/memory/shared_memory_meeting.h"
#include "join/registrar.h"
#include "plan/plan.h"

namespace infold::rank {

// The ranks themselves are the sites, with equal shares. They sum all formats that core can sum,
// and packets do not have to fit a network. `network` is the plan that the job would have if it
// used the network.
plan::Plan one_host_plan(const plan::Plan& network, const join::JobTerms& terms);

// The terms of the memory between all ranks of a job with such a plan.
io::MeetingTerms one_host_meeting(const plan::Plan& plan, const join::JobTerms& terms);

// The terms of the memory between a leader and its group, for a job with this plan. All ranks of
// the group must get the same terms, so they depend on the groups that were proposed and not on
// those that came about.
io::MeetingTerms group_meeting(const plan::Plan& plan, const join::JobTerms& terms,
                               core::RankRange group);

// A leader's leaves, one for each site. The group's ranks use the leaf as their site; for the site,
// the leaf is one worker.
std::vector<core::AggregatorOptions> leaves_of(const plan::Plan& plan, core::RankRange group);

}  // namespace infold::rank
