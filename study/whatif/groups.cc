// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "trace/call_shape.h"

namespace infold::whatif {
namespace {

constexpr std::size_t kGroupsMax = 4096;

std::vector<std::uint16_t> all_ranks(std::uint16_t ranks) {
  std::vector<std::uint16_t> all(ranks);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

// Returns whether the members are all ranks, in their order.
bool has_all(const std::vector<std::int64_t>& members, std::uint64_t ranks) {
  if (members.size() != ranks) return false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

auto find(const Groups& groups, const std::string& name) {
  return std::lower_bound(
      groups.begin(), groups.end(), name,
      [](const Group& each, const std::string& key) { return each.name < key; });
}

}  // namespace

Groups group_of_all(std::uint16_t ranks) { return {{"", all_ranks(ranks)}}; }

std::uint16_t number_of(const Groups& groups, const std::string& name) {
  return groups.size() == 1 ? 0 : static_cast<std::uint16_t>(find(groups, name) - groups.begin());
}

tl::expected<RecordedGroups, std::string> RecordedGroups::make(
    const std::vector<trace::Trace>& traces, std::uint64_t ranks) {
  // `members` has what the metadata lists. For other groups, the ranks that make their calls count.
  std::map<std::string, std::vector<std::int64_t>> members;
  std::map<std::string, std::vector<std::int64_t>> callers;
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    for (const std::string& name : trace::groups_of(traces[rank])) {
      callers[name].push_back(static_cast<std::int64_t>(rank));
      std::vector<std::int64_t> listed = trace::ranks_of_group(traces[rank], name);
      if (!listed.empty()) members.try_emplace(name, std::move(listed));
    }
  }
  if (callers.size() > kGroupsMax) {
    return tl::unexpected(fmt::format("the traces have {} groups, and a prediction has {} at most",
                                      callers.size(), kGroupsMax));
  }
  const bool is_lone = traces.size() == 1;
  RecordedGroups recorded;
  recorded.ranks_ = ranks;
  for (const auto& [name, calling] : callers) {
    const auto listed = members.find(name);
    const bool is_listed = listed != members.end();
    Group& group = recorded.groups_.emplace_back(Group{name, {}});
    if (is_lone && !is_listed) continue;
    const std::vector<std::int64_t>& known = is_listed ? listed->second : calling;
    if (has_all(known, ranks)) continue;
    if (is_lone) {
      return tl::unexpected(fmt::format(
          "group '{}' has {} of {} ranks, and one trace alone does not show the other groups; "
          "name the traces of all ranks",
          trace::printable(name), known.size(), ranks));
    }
    for (const std::int64_t rank : known) group.ranks.push_back(static_cast<std::uint16_t>(rank));
  }
  return recorded;
}

tl::expected<Groups, std::string> RecordedGroups::for_ranks(std::uint16_t ranks) const {
  Groups groups = groups_;
  for (Group& group : groups) {
    if (group.ranks.empty()) {
      group.ranks = all_ranks(ranks);
    } else if (ranks != ranks_) {
      return tl::unexpected(
          fmt::format("group '{}' has {} of {} ranks, and the traces do not say which groups {} "
                      "ranks would form; leave the number of ranks as it was recorded",
                      trace::printable(group.name), group.ranks.size(), ranks_, ranks));
    }
  }
  return groups;
}

std::uint64_t RecordedGroups::size_of(const std::string& name, std::uint64_t ranks) const {
  const auto found = find(groups_, name);
  const bool has_part = found != groups_.end() && !found->ranks.empty();
  return has_part ? found->ranks.size() : ranks;
}

}  // namespace infold::whatif
