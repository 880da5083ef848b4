// SPDX-License-Identifier: Apache-2.0
//
// Where the sums of an emulated job are made: racks and hosts of its ranks, and sites. Emulated
// ranks say these things in their hellos, as real ranks do. The registry turns the hellos into the
// job's terms, and the terms become the plan. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "core/packet/packet.h"
#include "core/site_record.h"
#include "join/registrar.h"
#include "plan/plan.h"

namespace infold::emulate {

struct JobShape {
  std::vector<core::RankRange> racks;  // each below its own switch; in rising order
  // Each host is one machine whose ranks share memory. In rising order; empty where ranks sum. Real
  // ranks never share memory with emulated ones, so a host with a real rank counts as several hosts
  // of one rank.
  std::vector<core::RankRange> hosts;
  std::vector<std::uint16_t> weights = {1};  // one for each emulated switch that is a site
  // Each rank also brings a site, which ranks of all racks reach directly. Sites of ranks come
  // after the sites of switches. There may then be no switches, and in that case no racks.
  bool ranks_sum = false;
  core::SiteRecord record;           // for each emulated site and the switches of racks
  bool on_servers = false;           // a site is a host with one link, like a rank, and not a
                                     // switch
  std::optional<plan::Plan> wanted;  // the plan that every job must have
};

// Returns `count` ranges that cover all ranks and differ in size by at most one. Requires: 1 <=
// count <= ranks.
std::vector<core::RankRange> even_ranges(std::uint32_t ranks, std::uint32_t count);

// Returns why no job with these ranks can have the shape, or nothing.
std::optional<std::string> find_fault(const JobShape& shape, std::uint32_t ranks);

// Returns the shape whose jobs have this plan. An error names what ranks at an emulator cannot
// form. Requires: the plan has no fault.
tl::expected<JobShape, std::string> shape_of(const plan::Plan& plan, std::uint32_t real);

// The first difference, phrased as what the job "has", and what the user can change.
struct PlanDifference {
  std::string text;
  std::string remedy;
};

// Returns how the plan of a job differs from the wanted plan, or nothing. The numbers of jobs do
// not count.
std::optional<PlanDifference> find_difference(const plan::Plan& wanted, const plan::Plan& plan);

// The switches that real ranks are directly below, each once, and the switch of each rank.
struct RealSwitches {
  std::vector<std::optional<core::RankRange>> racks;  // the rack of each switch; none: the root
  std::vector<std::size_t> of_rank;                   // by rank
};
RealSwitches switches_of(const JobShape& shape, std::uint32_t real);

// Returns the host group that this rank claims to belong to, or null.
const core::RankRange* host_of(const JobShape& shape, std::uint32_t real, std::uint32_t rank);

}  // namespace infold::emulate
