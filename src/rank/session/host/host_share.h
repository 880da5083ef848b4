// SPDX-License-Identifier: Apache-2.0
//
// A rank's part in its host's shared memory: first the meeting that it would host, then its own
// endpoint. In a host group, the leader also runs the leaves. A leaf is an aggregator that sums for
// the group's ranks and sends the sum to its site. In a job on one host, the ranks themselves are
// sites.
//
// Call open(), then meet() once the group is proposed. Once the group is in use, call
// take_summing_endpoint() in a job on one host, otherwise take_endpoint() and lead().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "io/memory/shared_memory_meeting.h"
#include "io/udp/udp_endpoint.h"
#include "join/host_groups.h"
#include "plan/plan.h"
#include "site/aggregator_driver.h"

namespace infold::rank {

class HostShare {
 public:
  // Null if the system does not have such memory, or does not say which host this is.
  static std::unique_ptr<HostShare> open(const std::string& host_name);

  // The host's identity and the meeting's name, for the other ranks.
  join::RankHost rank_host() const { return {identity_, meeting_->name()}; }

  // Meets the ranks of our group. With several hubs, these are all ranks of a job on one host.
  // Returns false if meeting is not possible or takes too long.
  bool meet(const join::HostGroup& group, std::uint32_t rank, const io::MeetingTerms& terms,
            base::Instant deadline);

  // Neighbour s of this endpoint leads to leaf s of the leader.
  std::unique_ptr<io::Endpoint> take_endpoint() { return std::move(endpoint_); }
  // Neighbour s of this endpoint leads to the site at rank s. This rank also sums if it is one of
  // the plan's sites.
  std::unique_ptr<io::Endpoint> take_summing_endpoint(const plan::Plan& plan, std::uint16_t rank);

  // For the leader only: sums from now on. There is one leaf for each channel of the queues. The
  // leaf's workers are the group's ranks, and its parent is the network's neighbour of the same
  // number. Throws std::system_error if no thread can be started.
  void lead(const std::vector<core::AggregatorOptions>& leaves, std::uint16_t small_slots,
            std::unique_ptr<io::UdpEndpoint> network);

 private:
  HostShare(std::string identity, io::SharedMemoryMeeting meeting)
      : identity_(std::move(identity)), meeting_(std::move(meeting)) {}
  base::Result<std::vector<io::SharedMemoryLink>> come_together(const join::HostGroup& group,
                                                                std::uint32_t rank,
                                                                const io::MeetingTerms& terms,
                                                                const io::Doorbell& own,
                                                                base::Instant deadline);
  base::Result<void> meet_leader(const join::HostGroup& group, std::uint32_t rank,
                                 const io::MeetingTerms& terms, base::Instant deadline);
  base::Result<void> meet_all(const join::HostGroup& group, std::uint32_t rank,
                              const io::MeetingTerms& terms, base::Instant deadline);

  std::string identity_;
  std::optional<io::SharedMemoryMeeting> meeting_;  // until the ranks have met
  std::unique_ptr<io::SharedMemoryEndpoint> endpoint_;
  std::unique_ptr<io::SharedMemoryEndpoint> leader_endpoint_;
  std::unique_ptr<site::AggregatorDriver> driver_;
};

}  // namespace infold::rank
