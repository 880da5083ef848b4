// SPDX-License-Identifier: Apache-2.0
//
// The hosts and links of a setting, and the plan of each group's job on them. Pure.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plan/plan.h"
#include "sim/cluster/cluster.h"
#include "whatif/groups.h"
#include "whatif/setting.h"

namespace infold::whatif {

// The link of each rank.
sim::LinkOptions link_of(const Setting& setting);

// The host of each rank.
std::vector<sim::HostIndex> hosts_of(const Setting& setting);

// Of each group, which is a job of its own. Groups take slots of switches and hosts in turn. The
// error says why no machines can be made. A group of one rank makes none.
tl::expected<std::vector<plan::Plan>, std::string> plans_of(const Setting& setting,
                                                            const Groups& groups);

// The cluster for the machines of these plans.
sim::ClusterOptions cluster_of(const Setting& setting, const std::vector<plan::Plan>& plans);

}  // namespace infold::whatif
