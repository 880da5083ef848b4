// SPDX-License-Identifier: Apache-2.0
//
// What joining has to do with ranks of one host: whether they share memory, and what then takes the
// place of the job's sites.
#include <algorithm>
#include <bit>

#include "base/prng.h"
#include "io/host/clock.h"
#include "io/udp/udp_port.h"
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
bool JobSession::meet_host(const core::WorkerOptions& worker) {
  for (const Link& each : links_) {
    if (each.link->terms().groups != terms().groups) return false;
  }
  const control::HostGroup* const group = control::group_of(terms().groups, worker.rank);
  if (!share_ || group == nullptr) return false;
  const base::Instant now = io::monotonic_now();
  const base::Duration patience = std::min((deadline_ - now) / 2, kMeetingMax);
  return share_->meet(*group, worker.rank, meeting_terms(worker, is_one_host()), now + patience);
}

// Equal at all ranks of a group before the group is in use, so by what was proposed.
io::MeetingTerms JobSession::meeting_terms(const core::WorkerOptions& worker, bool one_host) const {
  core::WorkerOptions used = worker;
  if (one_host) place_on_one_host(used);
  // What may be under way is at most a quarter of the slots of each site, or 32 chunks of each
  // stream; half of the places are for repeats and questions.
  const std::uint32_t under_way =
      std::max(used.bulk_slots / 4U, 32U) + std::max(used.small_slots / 4U, 32U);
  io::MeetingTerms meeting;
  meeting.ticket = base::mix64(std::uint64_t{terms().epoch} << 32 | terms().job);
  meeting.shape.channels = static_cast<std::uint32_t>(used.sites.size());
  meeting.shape.places =
      std::min(std::bit_ceil(2 * under_way * meeting.shape.channels), kPlacesMax);
  meeting.shape.datagram_bytes_max = used.limits.datagram_bytes_max;
  return meeting;
}

// One leaf is the only site, which sums what core can, and no packet has to fit a network.
void JobSession::place_on_one_host(core::WorkerOptions& worker) const {
  core::SiteOptions leaf;
  leaf.worker = static_cast<std::uint8_t>(worker.rank);
  leaf.job = terms().job;
  leaf.epoch = terms().epoch;
  worker.sites = {leaf};
  worker.limits.datagram_bytes_max = kMemoryDatagramBytes;
  constexpr core::SiteRecord kLeaf;
  worker.limits.elements_max = kLeaf.elements_max;
  worker.formats = kLeaf.formats;
  worker.small_slots = std::min(worker.small_slots, kMemorySmallSlots);
  worker.bulk_slots = std::min(worker.bulk_slots, kMemoryBulkSlots);
}

// A leaf per site: to the ranks it is the site, to the site it is one worker.
void JobSession::lead(const core::WorkerOptions& worker, const control::HostGroup& group) {
  std::vector<core::AggregatorOptions> leaves;
  for (const core::SiteOptions& site : worker.sites) {
    const std::size_t number = leaves.size();
    core::AggregatorOptions& leaf = leaves.emplace_back();
    leaf.job = site.job;
    leaf.epoch = site.epoch;
    leaf.slot_count = static_cast<std::uint16_t>(worker.small_slots + worker.bulk_slots);
    leaf.world = worker.world;
    for (std::uint16_t i = 0; i < group.ranks.count; ++i) {
      leaf.workers.push_back({static_cast<std::uint16_t>(group.ranks.first + i), 1});
    }
    if (!is_one_host()) leaf.parent_worker = party_at(host_terms(), plan_, number, worker.rank);
    leaf.datagram_bytes_max = worker.limits.datagram_bytes_max;
    leaf.elements_max = worker.limits.elements_max;
    leaf.arithmetic = &numeric::arithmetic();
  }
  std::unique_ptr<io::UdpPort> network;
  if (!is_one_host()) {
    network = std::make_unique<io::UdpPort>(std::move(*socket_), plan_.addresses);
  }
  share_->lead(leaves, worker.small_slots, std::move(network));
}

}  // namespace infold::rank
