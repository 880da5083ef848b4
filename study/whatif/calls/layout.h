// SPDX-License-Identifier: Apache-2.0
//
// The hosts and links of a setting, and the plan of each group's job on them. Pure.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "plan/plan.h"
#include "study/sim/cluster/cluster.h"
#include "study/whatif/groups.h"
#include "study/whatif/setting.h"

namespace infold::whatif {

// Returns the link of each rank.
sim::LinkOptions link_of(const Setting& setting);

// Returns the host of each rank.
std::vector<sim::HostIndex> hosts_of(const Setting& setting);

// Returns the plan of each group, which is a separate job. Groups take the slots of switches and
// hosts in turn. An error says why the machines cannot be made. A group of one rank does not make
// any.
tl::expected<std::vector<plan::Plan>, std::string> plans_of(const Setting& setting,
                                                            const Groups& groups);

// Returns the cluster for the machines of these plans.
sim::ClusterOptions cluster_of(const Setting& setting, const std::vector<plan::Plan>& plans);

}  // namespace infold::whatif
