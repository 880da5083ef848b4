// SPDX-License-Identifier: Apache-2.0
#include "join/client/job_answers.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/plain_text.h"
#include "core/format.h"
#include "io/address/socket_address.h"
#include "join/job_plan.h"
#include "join/job_terms.h"
#include "join/job_use.h"
#include "join/messages/end_message.h"
#include "join/messages/record_message.h"
#include "join/messages/refusal_message.h"
#include "join/refusals.h"

namespace infold::join {
namespace {

constexpr int kSitesMax = 64;
constexpr std::uint32_t kWeightMax = 64;
constexpr std::uint32_t kJobMax = 0xFFFF;
constexpr std::size_t kAddressBytesMax = 256;
// The length of a local socket's name (sockaddr_un), without its first byte.
constexpr std::size_t kMeetingBytesMax = 107;
constexpr std::size_t kMessageBytesMax = 2048;

using Misfit = std::optional<std::string>;

// Makes a host's text fit to show to a person: cuts it, and replaces control characters.
std::string printable(std::string_view text, std::size_t bytes_max) {
  return base::plain_text(text.substr(0, bytes_max));
}

tl::unexpected<Refusal> misfit(const std::string& host, const char* message, const Misfit& what) {
  return refused(sentences::kAnswerMisfits, host, message, *what);
}

Misfit outside(const char* field, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return fmt::format("{} of {}; allowed: {} to {}", field, value, least, most);
}

Misfit numbers_misfit(const v1::Joined& joined, const Hello& own) {
  if (Misfit what = outside("job", joined.job(), 0, kJobMax)) return what;
  if (Misfit what =
          outside("datagram_bytes_max", joined.datagram_bytes_max(), 0, own.datagram_bytes_max)) {
    return what;
  }
  if (Misfit what = outside("elements_max", joined.elements_max(), 0, INFOLD_ELEMENTS_MAX)) {
    return what;
  }
  const bool is_one_host = joined.groups_size() == 1 && joined.groups(0).count() == own.world;
  const bool is_tree = joined.racks_size() > 0 || (joined.groups_size() > 0 && !is_one_host);
  const core::ChunkLimits limits = {joined.datagram_bytes_max(), joined.elements_max(), is_tree};
  const core::FormatSet formats(joined.formats());
  if (formats.is_empty()) {
    return fmt::format("formats of {:#x}, none of which this version knows", joined.formats());
  }
  if (!plan::holds_all_layouts(limits, formats)) {
    return fmt::format(
        "datagram_bytes_max of {} and elements_max of {}, which hold no block of some formats",
        joined.datagram_bytes_max(), joined.elements_max());
  }
  const std::uint32_t small_most = std::min(own.small_slots, kSlotsMax);
  const std::uint32_t bulk_most = std::min(own.bulk_slots, kSlotsMax);
  if (Misfit what = outside("small_slots", joined.small_slots(), 0, small_most)) return what;
  if (Misfit what = outside("bulk_slots", joined.bulk_slots(), 0, bulk_most)) return what;
  return outside("small_slots and bulk_slots together", joined.small_slots() + joined.bulk_slots(),
                 1, kSlotsMax);
}

Misfit address_misfit(const std::string& text) {
  if (text.empty() || text.size() > kAddressBytesMax) return "has no address, or a longer one";
  const auto address = io::SocketAddress::parse_number(text, "address");
  if (!address) return fmt::format("'{}' {}", printable(text, 64), address.error().detail);
  if (address->port() == 0) return fmt::format("'{}' has no port", text);
  if (address->is_any() && text.front() != ':') return fmt::format("'{}' is no host's", text);
  return std::nullopt;
}

// Checks that a site has the abilities that the job uses.
Misfit record_misfit(const v1::Site& site, const v1::Joined& joined) {
  const auto record = record_of(site.has_record() ? &site.record() : nullptr);
  if (!record) return "with " + record.error();
  if (joined.elements_max() > record->elements_max) {
    return fmt::format("that sums {} elements of a chunk, in a job with elements_max of {}",
                       record->elements_max, joined.elements_max());
  }
  const core::FormatSet lacking = core::FormatSet(joined.formats()) - record->formats;
  if (!lacking.is_empty()) {
    return fmt::format("that does not sum {}, which the job uses", names_of(lacking));
  }
  const core::FloatTypes native(joined.native_types());
  if ((native & record->native()) == native) return std::nullopt;
  return fmt::format(
      "that sums native elements of types {:#x}, in a job with native_types of {:#x}",
      record->native().bits(), native.bits());
}

Misfit sites_misfit(const v1::Joined& joined, const Hello& own) {
  if (joined.sites_size() < 1 || joined.sites_size() > kSitesMax) {
    return fmt::format("sites: {} of them; allowed: 1 to {}", joined.sites_size(), kSitesMax);
  }
  bool is_after_ranks = false;
  int own_sites = 0;
  for (int i = 0; i < joined.sites_size(); ++i) {
    const v1::Site& site = joined.sites(i);
    if (Misfit what = address_misfit(site.address())) {
      return fmt::format("sites[{}].address {}", i, *what);
    }
    if (site.weight() > kWeightMax) {
      return fmt::format("sites[{}].weight of {}; allowed: 0 to {}", i, site.weight(), kWeightMax);
    }
    if (Misfit what = record_misfit(site, joined)) return fmt::format("sites[{}] {}", i, *what);
    if (is_after_ranks && !site.at_rank()) {
      return fmt::format("sites[{}] of a host behind one at a rank", i);
    }
    is_after_ranks = site.at_rank();
    if (own.site && site.at_rank() && site.address() == own.site->address) ++own_sites;
  }
  if (own.site && own_sites != 1) {
    return fmt::format("sites: this rank's own, {}, is there {} times", own.site->address,
                       own_sites);
  }
  return std::nullopt;
}

template <typename Each>
Misfit range_misfit(const Each& each, std::uint32_t next, std::uint32_t least,
                    std::uint32_t world) {
  const bool fits = each.first() >= next && each.first() < world && each.count() >= least &&
                    each.count() <= world - each.first();
  if (fits) return std::nullopt;
  return fmt::format("of {} ranks from {} on; the job has {}, rank {} is the next free one",
                     each.count(), each.first(), world, next);
}

// Reads groups of ranks of this job, in rising order. Each rank is in at most one group.
template <typename Message>
Misfit read_groups(const Message& message, std::uint32_t world, std::vector<HostGroup>& groups) {
  std::uint32_t next = 0;
  for (const v1::HostGroup& each : message.groups()) {
    if (const Misfit what = range_misfit(each, next, 2, world)) {
      return fmt::format("groups[{}] {}", groups.size(), *what);
    }
    if (each.meeting().empty() || each.meeting().size() > kMeetingBytesMax) {
      return fmt::format("groups[{}].meeting of {} bytes; allowed: 1 to {}", groups.size(),
                         each.meeting().size(), kMeetingBytesMax);
    }
    next = each.first() + each.count();
    groups.push_back(
        {{static_cast<std::uint16_t>(each.first()), static_cast<std::uint16_t>(each.count())},
         each.meeting()});
  }
  return std::nullopt;
}

Misfit read_racks(const v1::Joined& joined, std::uint32_t world,
                  std::vector<core::RankRange>& racks) {
  std::uint32_t next = 0;
  for (const v1::Rack& each : joined.racks()) {
    if (const Misfit what = range_misfit(each, next, 1, world)) {
      return fmt::format("racks[{}] {}", racks.size(), *what);
    }
    next = each.first() + each.count();
    racks.push_back(
        {static_cast<std::uint16_t>(each.first()), static_cast<std::uint16_t>(each.count())});
  }
  return std::nullopt;
}

// Checks that each host group is a part of one rack, or has no rank in any, because parties are
// counted by that.
Misfit overlap_misfit(const JobTerms& terms) {
  for (std::size_t i = 0; i < terms.groups.size(); ++i) {
    const core::RankRange group = terms.groups[i].ranks;
    const core::RankRange* const rack = core::find_range(terms.racks, group.first);
    for (std::uint32_t rank = group.first; rank < std::uint32_t{group.first} + group.count;
         ++rank) {
      if (core::find_range(terms.racks, rank) != rack) {
        return fmt::format("groups[{}] with ranks {} and {} in different racks", i, group.first,
                           rank);
      }
    }
  }
  return std::nullopt;
}

Misfit read_ranges(const v1::Joined& joined, const Hello& own, JobTerms& terms) {
  if (Misfit what = read_groups(joined, terms.world, terms.groups)) return what;
  if (Misfit what = read_racks(joined, terms.world, terms.racks)) return what;
  if (own.rack && !terms.racks.empty() && core::find_range(terms.racks, own.rank) == nullptr) {
    return fmt::format("racks without rank {}, which comes through one", own.rank);
  }
  return overlap_misfit(terms);
}

// Reads one source for each rank, or none at all. A source is empty if the host does not know it.
Misfit read_sources(const v1::Joined& joined, JobTerms& terms) {
  const auto count = static_cast<std::uint32_t>(joined.rank_sources_size());
  if (count != 0 && count != terms.world) {
    return fmt::format("rank_sources of {} ranks; the job has {}", count, terms.world);
  }
  for (const std::string& text : joined.rank_sources()) {
    io::SocketAddress& source = terms.rank_sources.emplace_back();
    if (text.empty()) continue;
    const bool is_long = text.size() > kAddressBytesMax;
    const auto address = io::SocketAddress::parse_host(is_long ? "" : text, "address");
    if (!address || address->is_any()) {
      return fmt::format("rank_sources[{}] '{}', which is no host's address",
                         terms.rank_sources.size() - 1, printable(text, 64));
    }
    source = *address;
  }
  return std::nullopt;
}

}  // namespace

Answer<JobTerms> terms_of(const v1::Joined& joined, const Hello& own, const std::string& host) {
  Misfit what = numbers_misfit(joined, own);
  if (!what) what = sites_misfit(joined, own);
  JobTerms terms;
  terms.world = own.world;
  if (!what) what = read_ranges(joined, own, terms);
  if (!what) what = read_sources(joined, terms);
  if (what) return misfit(host, "Joined", what);
  terms.job = static_cast<std::uint16_t>(joined.job());
  terms.epoch = joined.epoch();
  terms.datagram_bytes_max = joined.datagram_bytes_max();
  terms.elements_max = joined.elements_max();
  terms.formats = core::FormatSet(joined.formats());
  terms.native_types = core::FloatTypes(joined.native_types());
  terms.wants_transfers = joined.wants_transfers();
  terms.brief_results = joined.brief_results();
  terms.small_slots = static_cast<std::uint16_t>(joined.small_slots());
  terms.bulk_slots = static_cast<std::uint16_t>(joined.bulk_slots());
  for (const v1::Site& site : joined.sites()) {
    terms.sites.push_back(
        {site.address(), site.weight(), site.at_rank(), *record_of(&site.record())});
  }
  terms.parent = printable(joined.parent(), kAddressBytesMax);
  return terms;
}

Answer<std::vector<HostGroup>> groups_of(const v1::Go& go, const JobTerms& proposed,
                                         std::uint32_t rank, bool shares_memory,
                                         const std::string& host) {
  std::vector<HostGroup> groups;
  Misfit what = read_groups(go, proposed.world, groups);
  for (std::size_t i = 0; i < groups.size() && !what; ++i) {
    const auto& all = proposed.groups;
    if (std::find(all.begin(), all.end(), groups[i]) == all.end()) {
      what = fmt::format("groups[{}], which was not proposed", i);
    } else if (!shares_memory && group_of({&groups[i], 1}, rank) != nullptr) {
      what = fmt::format("groups[{}] with rank {}, which shares no memory", i, rank);
    }
  }
  if (what) return misfit(host, "Go", what);
  return groups;
}

Refusal heard_refusal(const v1::Refused& refused, std::uint32_t world) {
  Refusal refusal = refusal_of(refused);
  refusal.message = printable(refusal.message, kMessageBytesMax);
  if (refusal.rank < 0 || static_cast<std::uint32_t>(refusal.rank) >= world) refusal.rank = -1;
  return refusal;
}

JobEnd heard_end(const v1::Ended& ended, std::uint32_t world) {
  JobEnd end = end_of(ended);
  end.lost_switch = printable(end.lost_switch, kAddressBytesMax);
  if (end.lost_rank && *end.lost_rank >= world) return {};
  if (end.abort && (end.abort->rank >= world)) return {};
  return end;
}

}  // namespace infold::join
