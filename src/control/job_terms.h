// SPDX-License-Identifier: Apache-2.0
//
// What a job's ranks agree on, from what each has said: slots, hosts that sum first, and who says
// something else than the others. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/job_use.h"
#include "control/registrar.h"
#include "core/format.h"
#include "core/site_record.h"

namespace infold::control {

struct RankPlace {
  bool here = false;
  bool ready = false;
  bool gone = false;
  bool went = false;  // it was here, and left before all had come
  Hello hello;
  ReadyReport ready_report;
};

struct Slots {
  std::uint32_t small = 0;
  std::uint32_t bulk = 0;
};

// Of a switch's slots, what one job may have, and the jobs of one address together: three quarters,
// so that one Hello never takes all of a large switch, or as many as a rank of ours asks for.
std::uint32_t slot_share(std::uint32_t total);

// What a job gets of those that are free. May be more than these, but not more than slot_share().
Slots granted(Slots asked, std::uint32_t free, std::uint32_t total);

// Why a job that wants this many does not get them from the switch that is named so.
Refusal no_slots(const std::string& name, std::uint32_t free, std::uint32_t total,
                 const std::string& job, std::uint32_t wanted);

// Why a rank that waits for the others is to wait no longer.
Refusal too_few(const std::string& name, const std::vector<RankPlace>& ranks);

// Which ranks came through one rack's switch each.
Answer<std::vector<core::RankRange>> find_racks(const std::string& name,
                                                const std::vector<RankPlace>& ranks);

// Where the job is summed, also in its racks, with the most workers that each place may get: any
// host group may fall away. Requires: terms.racks and terms.sites are known.
std::vector<SiteOfJob> all_sites(const std::vector<RankPlace>& ranks, const JobTerms& terms);

// Which ranks sum on their own host first, if they find that they can.
std::vector<HostGroup> propose_groups(const std::vector<RankPlace>& ranks);

// Why the ranks of the job of this name, all ready, cannot work together.
std::optional<Refusal> find_disagreement(const std::string& name,
                                         const std::vector<RankPlace>& ranks);

}  // namespace infold::control
