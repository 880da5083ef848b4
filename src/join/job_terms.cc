// SPDX-License-Identifier: Apache-2.0
#include "join/job_terms.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "join/job_plan.h"
#include "join/refusals.h"

namespace infold::join {
namespace {

using namespace sentences;

// A program may have two dozen groups, each of which is a job. A job gets what it asks for if a
// quarter of the slots then stay free, or if it is alone. Later jobs get an eighth of what is free.
// The jobs of one address share 3072 of 4096 slots: four of them get 512, and 23 more fit before
// one is refused.
constexpr std::uint32_t kReservedPart = 4;
constexpr std::uint32_t kLatePart = 8;
constexpr std::uint32_t kGrantMin = 16;
// A quarter of the slots stays for jobs of other addresses. A rank of ours asks for 512 slots.
constexpr std::uint32_t kOthersPart = 4;
constexpr std::uint32_t kShareMin = 512;

// An exact sum has 8 bytes for each element on its way to a site, and its chunks are
// shorter. It also takes processor time at the leader. This pays off only if the host then sends at
// most half as many bytes.
bool pays_off(const HostGroup& group, const std::vector<RankPlace>& ranks) {
  std::uint64_t bytes = 0;
  bool is_wanted = true;
  for (std::uint32_t i = 0; i < group.ranks.count; ++i) {
    const Hello& hello = ranks[group.ranks.first + i].hello;
    bytes += hello.element_bytes;
    is_wanted = is_wanted && hello.always_shares;
  }
  return is_wanted || bytes >= 2 * sizeof(std::int64_t);
}

struct OddRank {
  std::size_t odd = 0;
  std::size_t usual = 0;
};

// Finds the first rank whose answer differs from the first rank that gives an answer at all.
template <typename Said>
std::optional<OddRank> find_odd(const std::vector<RankPlace>& ranks, Said&& said) {
  std::optional<std::size_t> usual;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto own = said(ranks[rank].ready_report);
    if (!own) continue;
    if (!usual) usual = rank;
    if (own != said(ranks[*usual].ready_report)) return OddRank{rank, *usual};
  }
  return std::nullopt;
}

std::optional<Refusal> odd_sites(const std::string& name, const std::vector<RankPlace>& ranks) {
  const auto found = find_odd(ranks, [](const ReadyReport& report) {
    return report.site_order == 0 ? std::nullopt : std::optional(report.site_order);
  });
  if (!found) return std::nullopt;
  return pointing_at(found->odd, refusal(kOtherSites, name, found->odd, found->usual));
}

// If only one rank compares results, it makes calls that no other rank makes.
std::optional<Refusal> odd_verifier(const std::string& name, const std::vector<RankPlace>& ranks) {
  const auto found = find_odd(ranks, [](const ReadyReport& report) { return report.verifies; });
  if (!found) return std::nullopt;
  const bool verifies = *ranks[found->odd].ready_report.verifies;
  return pointing_at(
      found->odd, refusal(kOtherVerify, name, found->odd, verifies ? "verifies" : "does not verify",
                          found->usual, verifies ? "does not" : "does"));
}

std::optional<Refusal> find_obstacle(const std::vector<RankPlace>& ranks) {
  const auto place = std::find_if(ranks.begin(), ranks.end(), [](const RankPlace& each) {
    return each.ready_report.obstacle.has_value();
  });
  return place == ranks.end() ? std::nullopt : place->ready_report.obstacle;
}

// A call that one rank has finished cannot be made again by another.
std::optional<Refusal> odd_history(const std::string& name, const std::vector<RankPlace>& ranks) {
  const auto found = find_odd(ranks, [](const ReadyReport& report) {
    return std::optional(std::pair(report.calls_finished, report.calls_beyond));
  });
  if (!found) return std::nullopt;
  return pointing_at(
      found->odd,
      refusal(kOtherHistory, name, found->odd, ranks[found->odd].ready_report.calls_finished,
              found->usual, ranks[found->usual].ready_report.calls_finished));
}

}  // namespace

std::uint32_t slot_share(std::uint32_t total) {
  return std::max(total - total / kOthersPart, std::min(total, kShareMin));
}

// Fewer slots than a job asked for only make long tensors slower.
Slots granted(Slots asked, std::uint32_t free, std::uint32_t total) {
  const std::uint32_t wanted = asked.small + asked.bulk;
  const std::uint32_t share = slot_share(total);
  std::uint32_t most = std::max(free / kLatePart, kGrantMin);
  if (free == total || free >= total / kReservedPart + std::min(wanted, share)) most = share;
  return shrunk(asked, most);
}

Slots shrunk(Slots asked, std::uint32_t most) {
  const std::uint32_t wanted = asked.small + asked.bulk;
  if (wanted <= most) return asked;
  const std::uint32_t small = std::max(asked.small * most / wanted, std::min(asked.small, 1U));
  return {small, most - small};
}

Refusal no_slots(const std::string& name, std::uint32_t free, std::uint32_t total,
                 const std::string& job, std::uint32_t wanted) {
  return refusal(kSlots, name, free, total, job, wanted);
}

std::string first_ranks(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kNamed = 32;
  const std::size_t named = std::min(ranks.size(), kNamed);
  std::string text = fmt::format("{}", fmt::join(ranks.first(named), ", "));
  if (ranks.size() > named) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

// A rank that came and went does not count as missing, because people should look at the rank that
// it waited for.
Refusal too_few(const std::string& name, const std::vector<RankPlace>& ranks,
                const std::string& turned_away) {
  std::vector<std::uint32_t> missing;
  std::vector<std::uint32_t> went;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].here) (ranks[rank].went ? went : missing).push_back(rank);
  }
  std::string others;
  if (!missing.empty()) others += clause(kMissingRanks, first_ranks(missing));
  if (!went.empty()) others += clause(kRanksThatWent, first_ranks(went));
  if (!turned_away.empty()) others += clause(kTurnedAway, turned_away);
  const Refusal why =
      refusal(kTooFewCame, name, ranks.size() - missing.size(), ranks.size(), others);
  const std::vector<std::uint32_t>& suspects = missing.empty() ? went : missing;
  return suspects.empty() ? why : pointing_at(suspects.front(), why);
}

// A rack is one worker of its parent, and a worker speaks for a range of ranks.
Answer<std::vector<core::RankRange>> find_racks(const std::string& name,
                                                const std::vector<RankPlace>& ranks) {
  std::vector<core::RankRange> racks;
  for (std::size_t first = 0; first < ranks.size();) {
    const std::optional<RackHello>& rack = ranks[first].hello.rack;
    std::size_t end = first + 1;
    const auto is_of_rack = [&](const RankPlace& each) {
      return each.hello.rack && each.hello.rack->identity == rack->identity;
    };
    while (rack && end < ranks.size() && is_of_rack(ranks[end])) ++end;
    if (rack) {
      racks.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(end - first)});
      const auto again =
          std::find_if(ranks.begin() + static_cast<std::ptrdiff_t>(end), ranks.end(), is_of_rack);
      if (again != ranks.end()) {
        return tl::unexpected(pointing_at(
            end, refusal(kRackWithGap, name, first, static_cast<Number>(again - ranks.begin()),
                         rack->address, end)));
      }
    }
    first = end;
  }
  return racks;
}

std::vector<SiteOfJob> all_sites(const std::vector<RankPlace>& ranks, const JobTerms& terms) {
  const plan::Tree tree = plan::tree_of(static_cast<std::uint16_t>(terms.world), {}, terms.racks);
  const std::size_t at_switch = tree.aggregators.front().children.size();
  std::vector<SiteOfJob> sites;
  for (const SiteAddress& site : terms.sites) {
    sites.push_back({"the site at " + site.address, site.record,
                     site.at_rank ? terms.world : static_cast<std::uint32_t>(at_switch),
                     terms.world});
  }
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const std::optional<RackHello>& rack = ranks[rank].hello.rack;
    if (!rack) continue;
    const core::RankRange* const range = core::find_range(terms.racks, rank);
    sites.push_back({"the rack's switch at " + rack->address, rack->record,
                     range == nullptr ? 1U : range->count, terms.world});
  }
  return sites;
}

// If ranks sum for each other over the network, all of them are sites of equal standing. These are
// too many for a host's leader to have an aggregator of its own below each of them.
std::vector<HostGroup> propose_groups(const std::vector<RankPlace>& ranks) {
  std::vector<std::optional<RankHost>> hosts;
  bool has_sites = false;
  for (const RankPlace& rank : ranks) {
    // Ranks of one host that join at different switches belong to different racks.
    hosts.push_back(rank.hello.host);
    if (hosts.back() && rank.hello.rack) hosts.back()->identity += '@' + rank.hello.rack->identity;
    has_sites = has_sites || rank.hello.site;
  }
  std::vector<HostGroup> groups = find_groups(hosts);
  if (is_one_host(groups, static_cast<std::uint32_t>(ranks.size()))) return groups;
  if (has_sites) return {};
  std::erase_if(groups, [&](const HostGroup& each) { return !pays_off(each, ranks); });
  return groups;
}

std::optional<Refusal> find_disagreement(const std::string& name,
                                         const std::vector<RankPlace>& ranks) {
  std::optional<Refusal> odd = find_obstacle(ranks);
  if (!odd) odd = odd_sites(name, ranks);
  if (!odd) odd = odd_verifier(name, ranks);
  if (!odd) odd = odd_history(name, ranks);
  return odd;
}

}  // namespace infold::join
