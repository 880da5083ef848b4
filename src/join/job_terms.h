// SPDX-License-Identifier: Apache-2.0
//
// The terms of a job, from the hellos and ready reports of its ranks: slots, hosts that sum first,
// and which rank differs from the others. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/site_record.h"
#include "join/job_use.h"
#include "join/registrar.h"

namespace infold::join {

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

// Slots of a switch that one job may have, and the jobs of one address together: three quarters, so
// that one hello never takes all of a large switch, or as many as a rank of ours asks for.
std::uint32_t slot_share(std::uint32_t total);

// The slots that a job gets. May be more than are free, but not more than slot_share().
Slots granted(Slots asked, std::uint32_t free, std::uint32_t total);

// At most so many of them. Both kinds shrink alike.
Slots shrunk(Slots asked, std::uint32_t most);

// The refusal of a job that wants this many slots of the switch with this name.
Refusal no_slots(const std::string& name, std::uint32_t free, std::uint32_t total,
                 const std::string& job, std::uint32_t wanted);

// As in "1, 2, 5", or the first 32 of them and how many more there are. All ranks of a job hear it,
// so that a list of a thousand ranks would be sent a thousand times.
std::string first_ranks(std::span<const std::uint32_t> ranks);

// The refusal of a rank whose patience ends while others are missing.
Refusal too_few(const std::string& name, const std::vector<RankPlace>& ranks,
                const std::string& turned_away);

// The racks of a job: ranges of ranks that came through one rack's switch each.
Answer<std::vector<core::RankRange>> find_racks(const std::string& name,
                                                const std::vector<RankPlace>& ranks);

// All sites of the job, also those of its racks, with the most workers that each may get: any host
// group may fall away. Requires: terms.racks and terms.sites are known.
std::vector<SiteOfJob> all_sites(const std::vector<RankPlace>& ranks, const JobTerms& terms);

// The groups of ranks that are to sum on their own host first, if they find that they can.
std::vector<HostGroup> propose_groups(const std::vector<RankPlace>& ranks);

// The reason, if any, for which the ranks of this job, all ready, cannot work together.
std::optional<Refusal> find_disagreement(const std::string& name,
                                         const std::vector<RankPlace>& ranks);

}  // namespace infold::join
