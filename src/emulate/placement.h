// SPDX-License-Identifier: Apache-2.0
//
// Where the sums of an emulated job are made: racks and hosts of its ranks, and sites. Ranks say
// these things in their hellos, as real ones do. The registry then makes the job's terms of them,
// and the terms become the plan. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "control/registrar.h"
#include "core/packet/packet.h"
#include "core/site_record.h"
#include "plan/plan.h"

namespace infold::emulate {

struct Placement {
  std::vector<core::RankRange> racks;  // each below a switch of its own; in rising order
  // Each is one machine, whose ranks share memory. Real ranks share none with emulated ones: a host
  // that has a real rank is several hosts of one rank. In rising order. None where ranks sum.
  std::vector<core::RankRange> hosts;
  std::vector<std::uint16_t> weights = {1};  // of each emulated switch at the root, a site
  // Each rank brings a site, too, which ranks of all racks reach themselves. Sites of ranks come
  // behind those of switches, of which there may be none then, and so no racks.
  bool ranks_sum = false;
  core::SiteRecord record;           // of each emulated site and of racks' switches
  bool on_servers = false;           // a site is a host with one link, as ranks have, and no switch
  std::optional<plan::Plan> wanted;  // the plan that every job must have
};

// So many ranges over all ranks, whose sizes differ by one at most. Requires: 1 <= count <= ranks.
std::vector<core::RankRange> even_ranges(std::uint32_t ranks, std::uint32_t count);

// Returns why no job of these ranks can have the placement, or nothing.
std::optional<std::string> find_fault(const Placement& placement, std::uint32_t ranks);

// The placement whose jobs have this plan. The error names what ranks at an emulator cannot form.
// Requires: the plan has no fault.
tl::expected<Placement, std::string> placement_of(const plan::Plan& plan, std::uint32_t real);

// The first one, as what the job "has", and what the user can change.
struct PlanDifference {
  std::string text;
  std::string remedy;
};

// Returns how the plan of a job differs from the plan that is wanted, or nothing. Numbers of jobs
// do not count.
std::optional<PlanDifference> find_difference(const plan::Plan& wanted, const plan::Plan& plan);

// The switches that real ranks are directly below, each of them once, and which one each of the
// ranks has.
struct RealSwitches {
  std::vector<std::optional<core::RankRange>> racks;  // whose switch it is; none: the root
  std::vector<std::size_t> of_rank;                   // by rank
};
RealSwitches switches_of(const Placement& placement, std::uint32_t real);

// The host group that this rank says it is of, or null.
const core::RankRange* host_of(const Placement& placement, std::uint32_t real, std::uint32_t rank);

}  // namespace infold::emulate
