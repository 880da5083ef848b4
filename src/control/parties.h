// SPDX-License-Identifier: Apache-2.0
//
// Who contributes at a job's sites: racks, host groups, and the ranks that are in neither. Whoever
// computes these from the same words gets the same numbers. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/host_groups.h"
#include "core/packet/packet.h"

namespace infold::control {

// At sites where a range of ranks meets without racks: a rack's own, or those of ranks.
std::vector<core::RankRange> parties_of(std::span<const HostGroup> groups, core::RankRange ranks);

// At sites that racks send on to, a party each; no host group is in two racks.
std::vector<core::RankRange> parties_of(std::span<const HostGroup> groups,
                                        std::span<const core::RankRange> racks,
                                        std::uint32_t world);

// The number of the party that a rank is in. Requires: it is in one.
std::uint8_t party_of(std::span<const core::RankRange> parties, std::uint32_t rank);

// The rack that a rank is in, or null.
const core::RankRange* rack_of(std::span<const core::RankRange> racks, std::uint32_t rank);

// One rack is the whole job, whose switch then is the root.
bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world);

}  // namespace infold::control
