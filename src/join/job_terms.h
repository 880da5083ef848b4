// SPDX-License-Identifier: Apache-2.0
//
// Makes the terms of a job from the hellos and ready reports of its ranks: slots, hosts that sum
// first, and which rank differs from the others. Pure functions.
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

// Returns how many slots of a switch one job, or all jobs of one address together, may have. It is
// three quarters of them, so that one hello never takes all of a large switch, but at least as many
// as a rank of ours asks for.
std::uint32_t slot_share(std::uint32_t total);

// Returns the slots that a job gets. They may be more than are free, but not more than
// slot_share().
Slots granted(Slots asked, std::uint32_t free, std::uint32_t total);

// Returns at most `most` of these slots, and reduces both kinds in the same proportion.
Slots shrunk(Slots asked, std::uint32_t most);

// Returns the refusal of a job that wants this many slots of the switch with this name.
Refusal no_slots(const std::string& name, std::uint32_t free, std::uint32_t total,
                 const std::string& job, std::uint32_t wanted);

// Returns a list such as "1, 2, 5", with at most 32 ranks and the number of further ones. All ranks
// of a job get the list, so a list of a thousand ranks would be sent a thousand times.
std::string first_ranks(std::span<const std::uint32_t> ranks);

// Returns the refusal of a rank whose patience ends while others are missing.
Refusal too_few(const std::string& name, const std::vector<RankPlace>& ranks,
                const std::string& turned_away);

// Returns the racks of a job. Each is the range of ranks that joined through one rack's switch.
Answer<std::vector<core::RankRange>> find_racks(const std::string& name,
                                                const std::vector<RankPlace>& ranks);

// Returns all sites of the job, including those of its racks. Each has the most workers that it may
// get, because any host group may be dropped later. Requires: terms.racks and terms.sites are
// known.
std::vector<SiteOfJob> all_sites(const std::vector<RankPlace>& ranks, const JobTerms& terms);

// Returns the groups of ranks that sum on their own host first, if they find that they can.
std::vector<HostGroup> propose_groups(const std::vector<RankPlace>& ranks);

// Returns why the ranks of this job cannot work together, or nothing. Requires: all ranks are
// ready.
std::optional<Refusal> find_disagreement(const std::string& name,
                                         const std::vector<RankPlace>& ranks);

}  // namespace infold::join
