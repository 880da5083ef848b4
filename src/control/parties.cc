// SPDX-License-Identifier: Apache-2.0
#include "control/parties.h"

#include <algorithm>

#include "base/check.h"

namespace infold::control {
namespace {

bool contains(core::RankRange range, std::uint32_t rank) {
  return rank >= range.first && rank < std::uint32_t{range.first} + range.count;
}

}  // namespace

std::vector<core::RankRange> parties_of(std::span<const HostGroup> groups, core::RankRange ranks) {
  std::vector<core::RankRange> parties;
  for (std::uint32_t rank = ranks.first; contains(ranks, rank);) {
    const HostGroup* const group = group_of(groups, rank);
    const auto alone = core::RankRange{static_cast<std::uint16_t>(rank), 1};
    parties.push_back(group != nullptr ? group->ranks : alone);
    rank += parties.back().count;
  }
  return parties;
}

std::vector<core::RankRange> parties_of(std::span<const HostGroup> groups,
                                        std::span<const core::RankRange> racks,
                                        std::uint32_t world) {
  std::vector<core::RankRange> parties;
  const auto all = core::RankRange{0, static_cast<std::uint16_t>(world)};
  for (const core::RankRange each : parties_of(groups, all)) {
    const core::RankRange* const rack = rack_of(racks, each.first);
    if (rack == nullptr) {
      parties.push_back(each);
    } else if (rack->first == each.first) {
      parties.push_back(*rack);
    }
  }
  return parties;
}

std::uint8_t party_of(std::span<const core::RankRange> parties, std::uint32_t rank) {
  const auto place = std::find_if(parties.begin(), parties.end(),
                                  [rank](core::RankRange each) { return contains(each, rank); });
  CHECK(place != parties.end());
  return static_cast<std::uint8_t>(place - parties.begin());
}

const core::RankRange* rack_of(std::span<const core::RankRange> racks, std::uint32_t rank) {
  const auto place = std::find_if(racks.begin(), racks.end(),
                                  [rank](core::RankRange each) { return contains(each, rank); });
  return place == racks.end() ? nullptr : &*place;
}

bool is_one_rack(std::span<const core::RankRange> racks, std::uint32_t world) {
  return racks.size() == 1 && racks.front().count == world;
}

}  // namespace infold::control
