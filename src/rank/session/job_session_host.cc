// SPDX-License-Identifier: Apache-2.0
//
// What joining has to do with ranks of one host: whether they share memory, and what then takes the
// place of the job's sites.
#include <algorithm>
#include <bit>

#include "base/prng.h"
#include "io/host/clock.h"
#include "io/udp/udp_endpoint.h"
#include "numeric/codec.h"
#include "rank/session/job_session.h"

namespace infold::rank {
namespace {

// How long ranks of a host may take to come together before they do without: some milliseconds,
// unless the host is very busy or one of them has stopped.
constexpr base::Duration kMeetingMax = base::seconds(3);
constexpr std::uint32_t kPlacesMax = 2048;
// The longest packet: 8192 elements of bfp8 with the exponents of their blocks.
constexpr std::uint32_t kMemoryDatagramBytes =
    INFOLD_HEADER_BYTES + INFOLD_PAYLOAD_BYTES_MAX + 8192 / INFOLD_BLOCK_ELEMENTS;
// Nothing is lost there, so that a window's worth of slots is enough, and fewer stay in the cache.
constexpr std::uint16_t kMemorySmallSlots = 32;
constexpr std::uint16_t kMemoryBulkSlots = 32;

}  // namespace

// Whether this rank shares memory with all of the group that was proposed for it. Hosts of the
// job's control planes that propose different groups, which those with sites of ranks do, get none.
bool JobSession::meet_host() {
  for (const Link& each : links_) {
    if (each.link->terms().groups != terms().groups) return false;
  }
  const control::HostGroup* const group = control::group_of(terms().groups, table_.rank);
  if (!share_ || group == nullptr) return false;
  const base::Instant now = io::monotonic_now();
  const base::Duration patience = std::min((deadline_ - now) / 2, kMeetingMax);
  const io::MeetingTerms meeting = meeting_terms(is_one_host() ? one_host_plan() : table_.plan);
  return share_->meet(*group, table_.rank, meeting, now + patience);
}

// Equal at all ranks of a group before the group is in use, so by what was proposed.
io::MeetingTerms JobSession::meeting_terms(const plan::Plan& plan) const {
  // What may be under way is at most a quarter of the slots of each site, or 32 chunks of each
  // stream; half of the places are for repeats and questions.
  const std::uint32_t under_way =
      std::max(plan.bulk_slots / 4U, 32U) + std::max(plan.small_slots / 4U, 32U);
  io::MeetingTerms meeting;
  meeting.ticket = base::mix64(std::uint64_t{terms().epoch} << 32 | terms().job);
  meeting.shape.channels = static_cast<std::uint32_t>(plan.trees.size());
  meeting.shape.places =
      std::min(std::bit_ceil(2 * under_way * meeting.shape.channels), kPlacesMax);
  meeting.shape.datagram_bytes_max = plan.datagram_bytes_max;
  return meeting;
}

// One leaf is the only site, which sums what core can, and no packet has to fit a network.
plan::Plan JobSession::one_host_plan() const {
  plan::Plan plan;
  plan.world = table_.plan.world;
  plan.datagram_bytes_max = kMemoryDatagramBytes;
  plan.small_slots = std::min(table_.plan.small_slots, kMemorySmallSlots);
  plan.bulk_slots = std::min(table_.plan.bulk_slots, kMemoryBulkSlots);
  plan::Tree& leaf = plan.trees.emplace_back(plan::flat_tree(plan.world));
  leaf.aggregators.front().place = plan::Place::host;
  leaf.aggregators.front().rank = std::uint16_t{0};
  leaf.job = terms().job;
  leaf.epoch = terms().epoch;
  return plan;
}

// A leaf per site: to the ranks it is the site, to the site it is one worker.
void JobSession::lead(const control::HostGroup& group) {
  std::vector<core::AggregatorOptions> leaves;
  for (std::size_t site = 0; site < table_.plan.trees.size(); ++site) {
    const auto leaf =
        plan::find_aggregator(table_.plan.trees[site], plan::Place::host, group.ranks);
    leaves.push_back(plan::aggregator_options(table_.plan, site, leaf.value_or(0)));
  }
  std::unique_ptr<io::UdpEndpoint> network;
  if (!is_one_host()) {
    network = std::make_unique<io::UdpEndpoint>(std::move(*socket_), table_.addresses);
  }
  share_->lead(leaves, table_.plan.small_slots, std::move(network));
}

}  // namespace infold::rank
