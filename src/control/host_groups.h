// SPDX-License-Identifier: Apache-2.0
//
// Which ranks of a job sum among themselves before the network does: neighbours in the order of
// ranks that run on one host. Pure; every party that computes these from the same words gets the
// same answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packet/packet.h"

namespace infold::control {

// Where a rank runs, as far as it can tell, and where it would wait for the others of its host.
struct RankHost {
  std::string identity;
  std::string meeting;

  friend bool operator==(const RankHost&, const RankHost&) = default;
};

// Two ranks or more, the first of which leads: it sums for all of them.
struct HostGroup {
  core::RankRange ranks;
  std::string meeting;  // the leader's

  friend bool operator==(const HostGroup&, const HostGroup&) = default;
};

// One entry per rank; empty for one that shares no memory.
std::vector<HostGroup> find_groups(std::span<const std::optional<RankHost>> hosts);

// One group is the whole job, which then needs no site.
bool is_one_host(std::span<const HostGroup> groups, std::uint32_t world);

// The group that this rank is in, or null.
const HostGroup* group_of(std::span<const HostGroup> groups, std::uint32_t rank);

}  // namespace infold::control
