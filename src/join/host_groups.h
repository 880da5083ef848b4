// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job that sum among themselves before the network does: ranks on one host whose
// numbers follow each other. Pure. Every party that computes the groups from the same hellos gets
// the same groups.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packet/packet.h"

namespace infold::join {

// The host of a rank, as far as the rank can tell, and where it would wait for the host's others.
struct RankHost {
  std::string identity;
  std::string meeting;

  friend bool operator==(const RankHost&, const RankHost&) = default;
};

// Two ranks or more. The first one is the leader, which sums for all of them.
struct HostGroup {
  core::RankRange ranks;
  std::string meeting;  // the leader's

  friend bool operator==(const HostGroup&, const HostGroup&) = default;
};

// `hosts` has one element per rank, empty for a rank that shares no memory.
std::vector<HostGroup> find_groups(std::span<const std::optional<RankHost>> hosts);

// Whether one group is the whole job, which then needs no site.
bool is_one_host(std::span<const HostGroup> groups, std::uint32_t world);

// The group that this rank is in, or null.
const HostGroup* group_of(std::span<const HostGroup> groups, std::uint32_t rank);

}  // namespace infold::join
