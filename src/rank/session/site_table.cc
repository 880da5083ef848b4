// SPDX-License-Identifier: Apache-2.0
#include "rank/session/site_table.h"

#include <algorithm>

#include "core/stripe.h"
#include "join/job_plan.h"
#include "join/job_use.h"
#include "rank/session/join_error.h"

namespace infold::rank {
namespace {

Error unsupported(const std::string& message) { return join_error(Code::unsupported, message); }

std::string name_of(const JoinOptions& options, const join::JobTerms& terms,
                    const join::SiteAddress& site, const io::SocketAddress& address,
                    std::size_t number) {
  // If ranks sum for each other, the sites are the ranks, in their order.
  if (options.sites == Sites::workers) {
    return address.text() + " (on rank " + std::to_string(number) + ")";
  }
  const bool is_below = !site.at_rank && !terms.parent.empty();
  return is_below ? address.text() + " (below " + terms.parent + ")" : address.text();
}

Result<void> add_sites(const SiteTableInput& input, const HostTerms& host, SiteTable& table) {
  const JoinOptions& options = input.options;
  for (const join::SiteAddress& site : host.terms->sites) {
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
    plan::Tree& added = table.plan.trees.emplace_back();
    added.weight = static_cast<std::uint16_t>(
        site.weight != 0 ? site.weight : static_cast<std::uint32_t>(as_ranks_choose));
    added.job = host.terms->job;
    added.epoch = host.terms->epoch;
    address->take_link(host.host);
    const bool is_own = input.own_site && site.at_rank && *address == *input.own_site;
    if (is_own && table.first_sites.size() == 1) {
      table.own = static_cast<std::uint8_t>(table.addresses.size());
    }
    table.addresses.push_back(*address);
    table.names.push_back(name_of(options, *host.terms, site, *address, table.names.size()));
  }
  return {};
}

// The formats of all calls that leave the format open. If the wire format is automatic, each call
// chooses.
core::FormatSet formats_asked(WireFormat wire) {
  using core::FormatSet;
  switch (wire) {
    case WireFormat::bfp8: return FormatSet::of(core::WireFormat::bfp8);
    case WireFormat::bfp16: return FormatSet::of(core::WireFormat::bfp16);
    case WireFormat::bfp32: return FormatSet::of(core::WireFormat::bfp32);
    case WireFormat::native: return FormatSet::of(core::WireFormat::native);
    // The first exchange, of exponents or of ranges, also travels in i32.
    case WireFormat::fixed32:
    case WireFormat::digits: return FormatSet::of(core::WireFormat::i32);
    default: return {};
  }
}

// This rank does not know the sites of other racks, and those may lack formats that the known sites
// have.
Result<void> check_formats(const JoinOptions& options, std::span<const HostTerms> hosts,
                           const SiteTable& table) {
  const core::FormatSet asked = formats_asked(options.wire);
  std::vector<join::SiteOfJob> sites;
  for (const HostTerms& host : hosts) {
    for (const join::SiteAddress& site : host.terms->sites) {
      sites.push_back({"the site at " + table.names[sites.size()], site.record, 1});
    }
  }
  const join::Answer<join::JobUse> use = join::job_use(options.job, sites, asked);
  if (!use) return tl::unexpected(unsupported(use.error().message));
  core::FormatSet lacking = asked - table.plan.formats;
  const core::FormatSet native = core::FormatSet::of(core::WireFormat::native);
  if (!table.plan.native_types.is_empty()) lacking = lacking - native;
  if (lacking == native && !use->native.is_empty()) {
    return tl::unexpected(unsupported(
        "not all sites sum native in every job; this one has racks, or ranks that share memory, or "
        "ranks that join with another wire format"));
  }
  if (!lacking.is_empty()) {
    return tl::unexpected(unsupported("a switch between this rank and the others does not sum " +
                                      core::names_of(lacking)));
  }
  if (!table.plan.formats.is_empty()) return {};
  return tl::unexpected(unsupported("the switches sum no wire format in common"));
}

}  // namespace

Result<SiteTable> find_sites(const SiteTableInput& input, std::span<const HostTerms> hosts) {
  SiteTable table;
  table.rank = static_cast<std::uint16_t>(input.options.rank);
  plan::Plan& plan = table.plan;
  plan.world = static_cast<std::uint16_t>(input.options.world);
  plan.datagram_bytes_max = input.datagram_bytes_max;
  plan.small_slots = input.small_slots;
  plan.bulk_slots = input.bulk_slots;
  plan.brief_results = true;
  core::FloatTypes native = core::FloatTypes::all();
  std::size_t count = 0;
  for (const HostTerms& host : hosts) count += host.terms->sites.size();
  if (count == 0 || count > core::Stripe::kSitesMax) {
    return tl::unexpected(unavailable("the switches have " + std::to_string(count) +
                                      " sites together; a job has 1 to 64"));
  }
  for (const HostTerms& host : hosts) {
    const join::JobTerms& terms = *host.terms;
    table.first_sites.push_back(static_cast<std::uint8_t>(plan.trees.size()));
    plan.datagram_bytes_max = std::min(plan.datagram_bytes_max, terms.datagram_bytes_max);
    plan.elements_max = std::min(plan.elements_max, terms.elements_max);
    plan.formats = plan.formats & terms.formats;
    plan.brief_results = plan.brief_results && terms.brief_results;
    native = native & core::native_types_of(terms.formats, terms.native_types);
    plan.small_slots = std::min(plan.small_slots, terms.small_slots);
    plan.bulk_slots = std::min(plan.bulk_slots, terms.bulk_slots);
    if (Result<void> added = add_sites(input, host, table); !added) {
      return tl::unexpected(added.error());
    }
  }
  if (!plan.formats.has(core::WireFormat::native)) plan.native_types = native;
  if (plan.small_slots + plan.bulk_slots == 0) {
    return tl::unexpected(unavailable(
        "the switches grant no slots in common: one has only small ones left, another none"));
  }
  if (Result<void> able = check_formats(input.options, hosts, table); !able) {
    return tl::unexpected(able.error());
  }
  if (input.own_site && !table.own) {
    return tl::unexpected(
        unavailable("the job lacks the site that this rank brings, " + input.own_site->text()));
  }
  settle(hosts, table);
  return table;
}

void settle(std::span<const HostTerms> hosts, SiteTable& table) {
  std::size_t site = 0;
  for (const HostTerms& host : hosts) {
    for (const join::SiteAddress& each : host.terms->sites) {
      plan::Tree& tree = table.plan.trees[site];
      tree.aggregators = join::tree_of(*host.terms, each).aggregators;
      if (table.own == site) tree.aggregators.front().rank = table.rank;
      ++site;
    }
  }
}

}  // namespace infold::rank
