// SPDX-License-Identifier: Apache-2.0
//
// A rank's part in its host's shared memory: the meeting that it would host, then its own endpoint.
// In a host group of several, the leader also has the leaves. A leaf is an aggregator that sums for
// the host's ranks and sends the sum to its site. In a job on one host, ranks are sites themselves.
//
// open(), meet() once the group is proposed. Once it is in use: in a job on one host
// take_summing_endpoint(), else take_endpoint() and lead().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "control/host_groups.h"
#include "io/memory/shared_memory_meeting.h"
#include "io/udp/udp_endpoint.h"
#include "plan/plan.h"
#include "site/aggregator_driver.h"

namespace infold::rank {

class HostShare {
 public:
  // Null if the system has no such memory, or does not say which host this is.
  static std::unique_ptr<HostShare> open(const std::string& host_name);

  // The host's identity and the meeting's name, for the other ranks.
  control::RankHost rank_host() const { return {identity_, meeting_->name()}; }

  // Comes together with the ranks of our group. With several hubs, all are ranks of a job on one
  // host. False if that is not possible, or takes too long.
  bool meet(const control::HostGroup& group, std::uint32_t rank, const io::MeetingTerms& terms,
            base::Instant deadline);

  // Peer s leads to leaf s of the leader.
  std::unique_ptr<io::Endpoint> take_endpoint() { return std::move(endpoint_); }
  // Peer s leads to the site at rank s. This rank sums, too, if it is one of the plan's sites.
  std::unique_ptr<io::Endpoint> take_summing_endpoint(const plan::Plan& plan, std::uint16_t rank);

  // Leader only: sums from now on. One leaf per channel of the queues, each with a parent that is
  // the network's peer of that number. The leaves' workers are the group's ranks. Throws
  // std::system_error without a thread.
  void lead(const std::vector<core::AggregatorOptions>& leaves, std::uint16_t small_slots,
            std::unique_ptr<io::UdpEndpoint> network);

 private:
  HostShare(std::string identity, io::SharedMemoryMeeting meeting)
      : identity_(std::move(identity)), meeting_(std::move(meeting)) {}
  base::Result<std::vector<io::SharedMemoryLink>> come_together(const control::HostGroup& group,
                                                                std::uint32_t rank,
                                                                const io::MeetingTerms& terms,
                                                                const io::Doorbell& own,
                                                                base::Instant deadline);
  base::Result<void> meet_leader(const control::HostGroup& group, std::uint32_t rank,
                                 const io::MeetingTerms& terms, base::Instant deadline);
  base::Result<void> meet_all(const control::HostGroup& group, std::uint32_t rank,
                              const io::MeetingTerms& terms, base::Instant deadline);

  std::string identity_;
  std::optional<io::SharedMemoryMeeting> meeting_;  // until we have met
  std::unique_ptr<io::SharedMemoryEndpoint> endpoint_;
  std::unique_ptr<io::SharedMemoryEndpoint> leader_endpoint_;
  std::unique_ptr<site::AggregatorDriver> driver_;
};

}  // namespace infold::rank
