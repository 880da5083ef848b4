// SPDX-License-Identifier: Apache-2.0
#include "join/host_groups.h"

#include <algorithm>

namespace infold::join {

// A group is a range of ranks, because a worker speaks for a range at an aggregator.
std::vector<HostGroup> find_groups(std::span<const std::optional<RankHost>> hosts) {
  std::vector<HostGroup> groups;
  for (std::size_t first = 0; first < hosts.size();) {
    std::size_t end = first + 1;
    while (end < hosts.size() && hosts[first] && hosts[end] &&
           hosts[end]->identity == hosts[first]->identity) {
      ++end;
    }
    if (end - first > 1) {
      groups.push_back(
          {{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(end - first)},
           hosts[first]->meeting});
    }
    first = end;
  }
  return groups;
}

bool is_one_host(std::span<const HostGroup> groups, std::uint32_t world) {
  return groups.size() == 1 && groups.front().ranks.count == world;
}

const HostGroup* group_of(std::span<const HostGroup> groups, std::uint32_t rank) {
  const auto place = std::find_if(groups.begin(), groups.end(), [rank](const HostGroup& each) {
    return rank >= each.ranks.first && rank < std::uint32_t{each.ranks.first} + each.ranks.count;
  });
  return place == groups.end() ? nullptr : &*place;
}

}  // namespace infold::join
