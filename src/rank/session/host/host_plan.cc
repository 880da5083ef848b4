// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host/host_plan.h"

#include <algorithm>
#include <bit>

#include "base/prng.h"

namespace infold::rank {
namespace {

constexpr std::uint32_t kPlacesMax = 2048;
// The longest packet: 8192 elements of bfp8 with the exponents of their blocks.
constexpr std::uint32_t kMemoryDatagramBytes =
    INFOLD_HEADER_BYTES + INFOLD_PAYLOAD_BYTES_MAX + 8192 / INFOLD_BLOCK_ELEMENTS;
// No packet is lost in memory, so that a window's worth of slots is enough, and fewer slots stay in
// the processor's cache.
constexpr std::uint16_t kMemorySmallSlots = 32;
constexpr std::uint16_t kMemoryBulkSlots = 32;

}  // namespace

plan::Plan one_host_plan(const plan::Plan& network, const control::JobTerms& terms) {
  plan::Plan plan;
  plan.world = network.world;
  plan.datagram_bytes_max = kMemoryDatagramBytes;
  plan.small_slots = std::min(network.small_slots, kMemorySmallSlots);
  plan.bulk_slots = std::min(network.bulk_slots, kMemoryBulkSlots);
  plan::Tree& leaf = plan.trees.emplace_back(plan::flat_tree(plan.world));
  leaf.aggregators.front().place = plan::Place::host;
  leaf.aggregators.front().rank = std::uint16_t{0};
  leaf.job = terms.job;
  leaf.epoch = terms.epoch;
  return plan;
}

// A quarter of a site's slots may be in flight, or 32 chunks of each stream. Half of the places are
// for retransmissions and queries.
io::MeetingTerms meeting_terms(const plan::Plan& plan, const control::JobTerms& terms) {
  const std::uint32_t in_flight =
      std::max(plan.bulk_slots / 4U, 32U) + std::max(plan.small_slots / 4U, 32U);
  io::MeetingTerms meeting;
  meeting.ticket = base::mix64(std::uint64_t{terms.epoch} << 32 | terms.job);
  meeting.shape.channels = static_cast<std::uint32_t>(plan.trees.size());
  meeting.shape.places =
      std::min(std::bit_ceil(2 * in_flight * meeting.shape.channels), kPlacesMax);
  meeting.shape.datagram_bytes_max = plan.datagram_bytes_max;
  return meeting;
}

std::vector<core::AggregatorOptions> leaves_of(const plan::Plan& plan, core::RankRange group) {
  std::vector<core::AggregatorOptions> leaves;
  for (std::size_t site = 0; site < plan.trees.size(); ++site) {
    // A job on one host has no other aggregator than its leaf.
    const auto leaf = plan::find_aggregator(plan.trees[site], plan::Place::host, group);
    leaves.push_back(plan::aggregator_options(plan, site, leaf.value_or(0)));
  }
  return leaves;
}

}  // namespace infold::rank
