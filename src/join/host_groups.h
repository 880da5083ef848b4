// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job that sum among themselves before the network does: ranks on one host with
// consecutive numbers. Pure. Every party that computes the groups from the same hellos gets the
// same groups.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packet/packet.h"

namespace infold::join {

// The host of a rank, as far as the rank can tell, and where the rank would meet the host's other
// ranks.
struct RankHost {
  std::string identity;
  std::string meeting;

  friend bool operator==(const RankHost&, const RankHost&) = default;
};

// A group has at least two ranks. The first one is the leader, which sums for all of them.
struct HostGroup {
  core::RankRange ranks;
  std::string meeting;  // the leader's meeting

  friend bool operator==(const HostGroup&, const HostGroup&) = default;
};

// `hosts` has one element per rank, which is empty for a rank that does not share memory.
std::vector<HostGroup> find_groups(std::span<const std::optional<RankHost>> hosts);

// Returns whether one group is the whole job, which then needs no site.
bool is_one_host(std::span<const HostGroup> groups, std::uint32_t world);

// Returns the group that this rank is in, or null.
const HostGroup* group_of(std::span<const HostGroup> groups, std::uint32_t rank);

}  // namespace infold::join
