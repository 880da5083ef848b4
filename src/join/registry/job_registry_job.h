// SPDX-License-Identifier: Apache-2.0
//
// A registry's record of one job. Internal to job_registry*.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "join/job_plan.h"
#include "join/job_terms.h"
#include "join/rank_listener.h"
#include "join/registry/at_plane.h"
#include "join/registry/job_registry.h"
#include "wire/infold_wire.h"

namespace infold::join {

inline constexpr std::uint32_t kNumberMax = std::numeric_limits<std::uint16_t>::max();

enum class Phase : std::uint8_t { gathering, joined, starting, running, over };

struct JobRegistry::Place {
  std::shared_ptr<RankListener> listener;  // null: no rank is here, or it got its last call
  std::uint64_t entry = 0;
  base::Instant deadline = base::Instant::never();
  bool lingers = false;  // the rank has left, but others still need it
};

struct JobRegistry::Job {
  std::string name;
  std::string address;           // the address of the rank that came first
  std::string address_of_slots;  // rank 0's address
  std::vector<RankPlace> ranks;
  std::vector<Place> places;  // by rank
  JobTerms terms;
  TokenUse::OfJob tokens;
  std::uint32_t here = 0;
  std::uint32_t ready = 0;
  std::uint32_t gone = 0;
  Phase phase = Phase::gathering;
  AtPlane at_plane = AtPlane::no;
  bool holds_slots = false;
  bool is_dropped = false;
  JobEnd end;                // once the job is over
  bool end_is_told = false;  // to all ranks that had not left
  // Why a rank was last turned away while this job was gathering. Ranks that wait in vain are told
  // this.
  std::string turned_away;

  std::uint32_t slots() const { return terms.small_slots + std::uint32_t{terms.bulk_slots}; }
  bool all_share_memory(core::RankRange range) const {
    const auto first = ranks.begin() + range.first;
    return std::all_of(first, first + range.count,
                       [](const RankPlace& each) { return each.ready_report.shares_memory; });
  }
  bool have_left(core::RankRange range) const {
    const auto first = ranks.begin() + range.first;
    return std::all_of(first, first + range.count, [](const RankPlace& each) { return each.gone; });
  }
  int first_here() const {
    const auto place =
        std::find_if(ranks.begin(), ranks.end(), [](const RankPlace& each) { return each.here; });
    return static_cast<int>(place - ranks.begin());
  }
  // Returns the ranks for which has() is false, such as those that have not come or are not ready.
  template <typename Has>
  std::vector<std::uint32_t> ranks_without(Has&& has) const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (!has(ranks[rank])) list.push_back(rank);
    }
    return list;
  }
};

}  // namespace infold::join
