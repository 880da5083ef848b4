// SPDX-License-Identifier: Apache-2.0
//
// The send queue of a host whose rank runs elsewhere. A host on a real link makes its rank wait
// while the link is busy, and drops nothing. Here the packets themselves wait, because nothing in
// the network can make that rank wait. Paths take turns, because a rank that waits before each
// packet would also send to its sites in turn, and not everything to one of them first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "study/sim/network/link.h"

namespace infold::sim {

class HostQueue final : public Node {
 public:
  // Passes a packet on to the link while less than `bytes` of frames are queued there.
  HostQueue(const Link& link, std::int64_t bytes, NodeId self)
      : link_(link), bytes_(bytes), self_(self) {}

  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override;
  void handle_timeout(base::Instant now, Outlet& outlet) override;
  base::Instant next_timeout() const override;

 private:
  const Link& link_;
  const std::int64_t bytes_;
  const NodeId self_;
  // When the link will have sent all packets that were passed on. Some of them reach the link only
  // after the next packet has come here.
  std::int64_t busy_until_ps_ = 0;
  std::map<PathId, std::deque<Parcel>> waiting_;  // no queue in it is empty
  PathId turn_ = 0;                               // the lowest path that may be next
};

}  // namespace infold::sim
