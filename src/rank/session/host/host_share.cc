// SPDX-License-Identifier: Apache-2.0
//
// The leader reaches its own leaves as the other ranks do, over memory that it shares with itself.
#include "rank/session/host/host_share.h"

#include <utility>

#include "base/check.h"
#include "io/host/host_identity.h"
#include "io/host_endpoint.h"

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

bool HostShare::meet(const control::HostGroup& group, std::uint32_t rank,
                     const io::MeetingTerms& terms, base::Instant deadline) {
  const base::Result<void> met = rank == group.ranks.first
                                     ? host_meeting(group, terms, deadline)
                                     : attend_meeting(group, rank, terms, deadline);
  meeting_.reset();
  return met.has_value();
}

base::Result<void> HostShare::host_meeting(const control::HostGroup& group,
                                           const io::MeetingTerms& terms, base::Instant deadline) {
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

  auto others =
      meeting_->host(terms, group.ranks.first + 1U, group.ranks.count - 1U, *leader_bell, deadline);
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

base::Result<void> HostShare::attend_meeting(const control::HostGroup& group, std::uint32_t rank,
                                             const io::MeetingTerms& terms,
                                             base::Instant deadline) {
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  auto link = io::SharedMemoryMeeting::attend(group.meeting, terms, rank, *bell, deadline);
  if (!link) return tl::unexpected(link.error());
  std::vector<io::SharedMemoryLink> links;
  links.push_back(std::move(*link));
  endpoint_ =
      std::make_unique<io::SharedMemoryEndpoint>(std::move(*bell), terms.shape, std::move(links));
  return {};
}

void HostShare::lead(const std::vector<core::AggregatorOptions>& leaves, std::uint16_t small_slots,
                     std::unique_ptr<io::UdpEndpoint> network) {
  CHECK(leader_endpoint_ != nullptr);
  const std::size_t members = leader_endpoint_->peer_count() / leaves.size();
  std::vector<site::AggregatorDriver::Node> nodes(leaves.size());
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    nodes[leaf].options = leaves[leaf];
    nodes[leaf].small_slots = small_slots;
    CHECK_THAT(leaves[leaf].workers.size(), ==, members);
    for (std::size_t member = 0; member < members; ++member) {
      const std::size_t peer = member * leaves.size() + leaf;
      nodes[leaf].workers.push_back(io::Peer{static_cast<std::uint32_t>(peer)});
    }
    if (!network) continue;
    const std::size_t parent = members * leaves.size() + leaf;
    nodes[leaf].parent = io::Peer{static_cast<std::uint32_t>(parent)};
  }
  std::unique_ptr<io::Endpoint> endpoint;
  if (network) {
    endpoint = std::make_unique<io::HostEndpoint>(std::move(leader_endpoint_), std::move(network));
  } else {
    endpoint = std::move(leader_endpoint_);
  }
  driver_ = std::make_unique<site::AggregatorDriver>(std::move(nodes), std::move(endpoint));
}

}  // namespace infold::rank
