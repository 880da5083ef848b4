// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host/host_plan.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/prng.h"
#include "rank/session/host/summing_memory_endpoint.h"

namespace infold::rank {
namespace {

constexpr std::uint32_t kPlacesMax = 2048;
// The longest packet: 8192 elements of bfp8 with the exponents of their blocks.
constexpr std::uint32_t kMemoryDatagramBytes =
    INFOLD_HEADER_BYTES + INFOLD_PAYLOAD_BYTES_MAX + 8192 / INFOLD_BLOCK_ELEMENTS;
// Slots of all sites together. Nothing queues in memory, so a few chunks in flight are enough, and
// their data stays in the processor's cache.
constexpr std::uint32_t kMemorySmallSlots = 32;
constexpr std::uint32_t kMemoryBulkSlots = 32;
// Slots of one site. With fewer, a packet that a full queue drops would cause a timeout.
constexpr std::uint32_t kSiteSlotsMin = 4;
// More sites would need more memory and files, and would hardly share the work better.
constexpr std::uint16_t kMemorySitesMax = 16;

std::uint16_t slots_of_site(std::uint16_t network, std::uint32_t of_all, std::uint32_t sites) {
  const std::uint32_t slots = std::max(of_all / sites, kSiteSlotsMin);
  return static_cast<std::uint16_t>(std::min<std::uint32_t>(network, slots));
}

std::uint64_t ticket_of(const join::JobTerms& terms) {
  return base::mix64(std::uint64_t{terms.epoch} << 32 | terms.job);
}

}  // namespace

plan::Plan one_host_plan(const plan::Plan& network, const join::JobTerms& terms) {
  plan::Plan plan;
  plan.world = network.world;
  plan.datagram_bytes_max = kMemoryDatagramBytes;
  plan.brief_results = network.brief_results;
  const std::uint16_t sites = std::min(plan.world, kMemorySitesMax);
  plan.small_slots = slots_of_site(network.small_slots, kMemorySmallSlots, sites);
  plan.bulk_slots = slots_of_site(network.bulk_slots, kMemoryBulkSlots, sites);
  for (std::uint16_t rank = 0; rank < sites; ++rank) {
    plan::Tree& site = plan.trees.emplace_back(plan::flat_tree(plan.world));
    site.aggregators.front().place = plan::Place::host;
    site.aggregators.front().rank = rank;
    site.job = terms.job;
    site.epoch = terms.epoch;
  }
  return plan;
}

// Each way, a link carries contributions to the site at one end, and results of the site at the
// other end. All slots may be in flight.
io::MeetingTerms one_host_meeting(const plan::Plan& plan, const join::JobTerms& terms) {
  io::MeetingTerms meeting;
  meeting.ticket = ticket_of(terms);
  meeting.members = plan.world;
  meeting.hubs = static_cast<std::uint32_t>(plan.trees.size());
  meeting.shape.channels = SummingMemoryEndpoint::channel_count;
  meeting.shape.places = std::bit_ceil(2U * plan.slots());
  meeting.shape.datagram_bytes_max = plan.datagram_bytes_max;
  return meeting;
}

// A quarter of a site's slots may be in flight, or 32 chunks of each stream. Half of the places are
// for retransmissions and queries.
io::MeetingTerms group_meeting(const plan::Plan& plan, const join::JobTerms& terms,
                               core::RankRange group) {
  const std::uint32_t in_flight =
      std::max(plan.bulk_slots / 4U, 32U) + std::max(plan.small_slots / 4U, 32U);
  io::MeetingTerms meeting;
  meeting.ticket = ticket_of(terms);
  meeting.members = group.count;
  meeting.shape.channels = static_cast<std::uint32_t>(plan.trees.size());
  meeting.shape.places =
      std::min(std::bit_ceil(2 * in_flight * meeting.shape.channels), kPlacesMax);
  meeting.shape.datagram_bytes_max = plan.datagram_bytes_max;
  return meeting;
}

std::vector<core::AggregatorOptions> leaves_of(const plan::Plan& plan, core::RankRange group) {
  std::vector<core::AggregatorOptions> leaves;
  for (std::size_t site = 0; site < plan.trees.size(); ++site) {
    const auto leaf = plan::find_aggregator(plan.trees[site], plan::Place::host, group);
    CHECK(leaf.has_value());
    leaves.push_back(plan::aggregator_options(plan, site, *leaf));
  }
  return leaves;
}

}  // namespace infold::rank
