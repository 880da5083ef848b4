// SPDX-License-Identifier: Apache-2.0
//
// A group's leader reaches its own leaves as the other ranks do, through memory that it shares with
// itself.
#include "rank/session/host/host_share.h"

#include <utility>

#include "base/check.h"
#include "io/host/host_identity.h"
#include "io/host_endpoint.h"
#include "rank/session/host/summing_memory_endpoint.h"

namespace infold::rank {
namespace {

using Side = io::SharedMemoryLink::Side;

}  // namespace

std::unique_ptr<HostShare> HostShare::open(const std::string& host_name) {
  std::string identity = io::host_identity(host_name);
  if (identity.empty()) return nullptr;
  base::Result<io::SharedMemoryMeeting> meeting = io::SharedMemoryMeeting::open();
  if (!meeting) return nullptr;
  return std::unique_ptr<HostShare>(new HostShare(std::move(identity), std::move(*meeting)));
}

bool HostShare::meet(const join::HostGroup& group, std::uint32_t rank,
                     const io::MeetingTerms& terms, base::Instant deadline) {
  const base::Result<void> met = terms.hubs > 1 ? meet_all(group, rank, terms, deadline)
                                                : meet_leader(group, rank, terms, deadline);
  meeting_.reset();
  return met.has_value();
}

// The links of one member, at the doorbell `own`.
base::Result<std::vector<io::SharedMemoryLink>> HostShare::come_together(
    const join::HostGroup& group, std::uint32_t rank, const io::MeetingTerms& terms,
    const io::Doorbell& own, base::Instant deadline) {
  const std::uint32_t member = rank - group.ranks.first;
  if (member == 0) return meeting_->host(terms, own, deadline);
  return io::SharedMemoryMeeting::attend(group.meeting, terms, member, own, deadline);
}

base::Result<void> HostShare::meet_all(const join::HostGroup& group, std::uint32_t rank,
                                       const io::MeetingTerms& terms, base::Instant deadline) {
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  auto links = come_together(group, rank, terms, *bell, deadline);
  if (!links) return tl::unexpected(links.error());
  endpoint_ =
      std::make_unique<io::SharedMemoryEndpoint>(std::move(*bell), terms.shape, std::move(*links));
  return {};
}

// The leader has a second endpoint, for the leaves.
base::Result<void> HostShare::meet_leader(const join::HostGroup& group, std::uint32_t rank,
                                          const io::MeetingTerms& terms, base::Instant deadline) {
  if (rank != group.ranks.first) return meet_all(group, rank, terms, deadline);
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  base::Result<io::Doorbell> leader_bell = io::Doorbell::open();
  if (!leader_bell) return tl::unexpected(leader_bell.error());
  base::Result<io::Doorbell> to_leader = leader_bell->share();
  if (!to_leader) return tl::unexpected(to_leader.error());
  base::Result<io::Doorbell> to_rank = bell->share();
  if (!to_rank) return tl::unexpected(to_rank.error());
  auto memory = io::SharedMemory::create(io::SharedMemoryLink::memory_bytes(terms.shape));
  if (!memory) return tl::unexpected(memory.error());
  const auto both = std::make_shared<io::SharedMemory>(std::move(*memory));

  auto others = come_together(group, rank, terms, *leader_bell, deadline);
  if (!others) return tl::unexpected(others.error());
  std::vector<io::SharedMemoryLink> links;
  links.push_back({both, Side::host, std::move(*to_rank)});
  for (io::SharedMemoryLink& each : *others) links.push_back(std::move(each));
  leader_endpoint_ = std::make_unique<io::SharedMemoryEndpoint>(std::move(*leader_bell),
                                                                terms.shape, std::move(links));
  std::vector<io::SharedMemoryLink> own;
  own.push_back({both, Side::member, std::move(*to_leader)});
  endpoint_ =
      std::make_unique<io::SharedMemoryEndpoint>(std::move(*bell), terms.shape, std::move(own));
  return {};
}

std::unique_ptr<io::Endpoint> HostShare::take_summing_endpoint(const plan::Plan& plan,
                                                               std::uint16_t rank) {
  std::optional<core::AggregatorOptions> site;
  if (rank < plan.trees.size()) site = plan::aggregator_options(plan, rank, 0);
  return std::make_unique<SummingMemoryEndpoint>(std::move(endpoint_), rank, site);
}

void HostShare::lead(const std::vector<core::AggregatorOptions>& leaves, std::uint16_t small_slots,
                     std::unique_ptr<io::UdpEndpoint> network) {
  CHECK(leader_endpoint_ != nullptr);
  CHECK(network != nullptr);
  const std::size_t members = leader_endpoint_->neighbour_count() / leaves.size();
  std::vector<site::AggregatorDriver::Node> nodes(leaves.size());
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    nodes[leaf].options = leaves[leaf];
    nodes[leaf].small_slots = small_slots;
    CHECK_THAT(leaves[leaf].workers.size(), ==, members);
    for (std::size_t member = 0; member < members; ++member) {
      const std::size_t neighbour = member * leaves.size() + leaf;
      nodes[leaf].workers.push_back(io::Neighbour{static_cast<std::uint32_t>(neighbour)});
    }
    const std::size_t parent = members * leaves.size() + leaf;
    nodes[leaf].parent = io::Neighbour{static_cast<std::uint32_t>(parent)};
  }
  driver_ = std::make_unique<site::AggregatorDriver>(
      std::move(nodes),
      std::make_unique<io::HostEndpoint>(std::move(leader_endpoint_), std::move(network)));
}

}  // namespace infold::rank
