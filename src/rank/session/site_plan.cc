// SPDX-License-Identifier: Apache-2.0
#include "rank/session/site_plan.h"

#include <algorithm>

#include "control/host_groups.h"
#include "control/job_use.h"
#include "control/parties.h"
#include "core/stripe.h"

namespace infold::rank {
namespace {

Error unavailable(std::string message) {
  return {Code::unavailable, "join: " + std::move(message), -1, ""};
}

Error unsupported(std::string message) {
  return {Code::unsupported, "join: " + std::move(message), -1, ""};
}

std::string name_of(const JoinOptions& options, const control::JobTerms& terms,
                    const control::SiteAddress& site, const io::SocketAddress& address,
                    std::size_t number) {
  // Ranks that sum for each other are the sites, in their order.
  if (options.sites == Sites::workers) {
    return address.text() + " (on rank " + std::to_string(number) + ")";
  }
  const bool is_below = !site.at_rank && !terms.parent.empty();
  return is_below ? address.text() + " (below " + terms.parent + ")" : address.text();
}

Result<void> add_sites(const SitePlanInput& input, const HostTerms& host, SitePlan& plan) {
  const JoinOptions& options = input.options;
  for (const control::SiteAddress& site : host.terms->sites) {
    auto address = io::SocketAddress::parse_number(site.address, "a site");
    if (!address) {
      return tl::unexpected(
          unavailable("a site at " + site.address + " " + address.error().detail));
    }
    if (address->is_any()) {
      const std::uint16_t port = address->port();
      address = host.host;
      address->set_port(port);
    }
    const int as_ranks_choose = options.sites == Sites::mixed ? options.switch_weight : 1;
    core::SiteOptions& added = plan.sites.emplace_back();
    added.weight = static_cast<std::uint16_t>(
        site.weight != 0 ? site.weight : static_cast<std::uint32_t>(as_ranks_choose));
    added.job = host.terms->job;
    added.epoch = host.terms->epoch;
    address->take_link(host.host);
    added.takes_sparse = site.record.takes_sparse;
    added.formats = site.record.formats;
    const bool is_own = input.own_site && site.at_rank && *address == *input.own_site;
    if (is_own && plan.first_sites.size() == 1) {
      plan.own = static_cast<std::uint8_t>(plan.addresses.size());
    }
    plan.addresses.push_back(*address);
    plan.names.push_back(name_of(options, *host.terms, site, *address, plan.names.size()));
  }
  return {};
}

// What all calls will use that leave the format open; of automatic formats each call finds its own.
core::FormatSet formats_asked(WireFormat wire) {
  using core::FormatSet;
  switch (wire) {
    case WireFormat::bfp8: return FormatSet::of(core::WireFormat::bfp8);
    case WireFormat::bfp16: return FormatSet::of(core::WireFormat::bfp16);
    case WireFormat::bfp32: return FormatSet::of(core::WireFormat::bfp32);
    // Elements, and the exponents that are agreed on before.
    case WireFormat::fixed32:
      return FormatSet::of(core::WireFormat::i32) | FormatSet::of(core::WireFormat::i16);
    default: return {};
  }
}

// A site that this rank does not know, of another rack, may lack what those that it knows have.
Result<void> check_formats(const JoinOptions& options, std::span<const HostTerms> hosts,
                           const SitePlan& plan) {
  const core::FormatSet asked = formats_asked(options.wire);
  std::vector<control::SiteOfJob> sites;
  for (const HostTerms& host : hosts) {
    for (const control::SiteAddress& site : host.terms->sites) {
      sites.push_back({"the site at " + plan.names[sites.size()], site.record, 1});
    }
  }
  const control::Answer<control::JobUse> use = control::job_use(options.job, sites, asked);
  if (!use) return tl::unexpected(unsupported(use.error().message));
  if (const core::FormatSet lacking = asked - plan.formats; !lacking.is_empty()) {
    return tl::unexpected(unsupported("a switch between this rank and the others does not sum " +
                                      control::names_of(lacking)));
  }
  if (!plan.formats.is_empty()) return {};
  return tl::unexpected(unsupported("the switches sum no wire format in common"));
}

}  // namespace

Result<SitePlan> plan_sites(const SitePlanInput& input, std::span<const HostTerms> hosts) {
  SitePlan plan;
  plan.limits = input.limits;
  plan.formats = core::FormatSet::all();
  plan.small_slots = input.small_slots;
  plan.bulk_slots = input.bulk_slots;
  std::size_t count = 0;
  for (const HostTerms& host : hosts) count += host.terms->sites.size();
  if (count == 0 || count > core::Stripe::kSitesMax) {
    return tl::unexpected(unavailable("the switches have " + std::to_string(count) +
                                      " sites together; a job has 1 to 64"));
  }
  for (const HostTerms& host : hosts) {
    const control::JobTerms& terms = *host.terms;
    plan.first_sites.push_back(static_cast<std::uint8_t>(plan.sites.size()));
    plan.limits.datagram_bytes_max =
        std::min(plan.limits.datagram_bytes_max, terms.datagram_bytes_max);
    plan.limits.elements_max = std::min(plan.limits.elements_max, terms.elements_max);
    plan.formats = plan.formats & terms.formats;
    plan.small_slots = std::min(plan.small_slots, terms.small_slots);
    plan.bulk_slots = std::min(plan.bulk_slots, terms.bulk_slots);
    if (Result<void> added = add_sites(input, host, plan); !added) {
      return tl::unexpected(added.error());
    }
  }
  if (plan.small_slots + plan.bulk_slots == 0) {
    return tl::unexpected(unavailable(
        "the switches grant no slots in common: one has only small ones left, another none"));
  }
  if (Result<void> able = check_formats(input.options, hosts, plan); !able) {
    return tl::unexpected(able.error());
  }
  if (input.own_site && !plan.own) {
    return tl::unexpected(
        unavailable("the job lacks the site that this rank brings, " + input.own_site->text()));
  }
  return plan;
}

std::uint8_t party_at(std::span<const HostTerms> hosts, const SitePlan& plan, std::size_t site,
                      std::uint32_t rank) {
  const auto host = std::upper_bound(plan.first_sites.begin(), plan.first_sites.end(), site) -
                    plan.first_sites.begin() - 1;
  const control::JobTerms& terms = *hosts[static_cast<std::size_t>(host)].terms;
  const core::RankRange* const rack = control::rack_of(terms.racks, rank);
  const std::size_t place = site - plan.first_sites[static_cast<std::size_t>(host)];
  if (terms.sites[place].at_rank) {
    return control::party_of(control::parties_of(terms.groups, {}, terms.world), rank);
  }
  if (rack != nullptr) return control::party_of(control::parties_of(terms.groups, *rack), rank);
  return control::party_of(control::parties_of(terms.groups, terms.racks, terms.world), rank);
}

void place_at_sites(std::span<const HostTerms> hosts, const SitePlan& plan,
                    core::WorkerOptions& worker) {
  const std::vector<control::HostGroup>& groups = hosts.front().terms->groups;
  const control::HostGroup* const group = control::group_of(groups, worker.rank);
  const auto has_racks = [](const HostTerms& each) { return !each.terms->racks.empty(); };
  worker.limits.tree = !groups.empty() || std::any_of(hosts.begin(), hosts.end(), has_racks);
  for (std::size_t site = 0; site < worker.sites.size(); ++site) {
    worker.sites[site].worker = group != nullptr
                                    ? static_cast<std::uint8_t>(worker.rank - group->ranks.first)
                                    : party_at(hosts, plan, site, worker.rank);
  }
}

}  // namespace infold::rank
