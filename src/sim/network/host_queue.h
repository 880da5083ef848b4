// SPDX-License-Identifier: Apache-2.0
//
// The send queue of a host whose rank is elsewhere. A host on a real link makes the rank's sends
// wait while the link is busy, and drops none. Here the packets themselves wait, because nothing in
// the network can make that rank wait. Paths take turns: a rank that waits before each packet would
// send to its sites in turn, and not all that it has for one of them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "sim/network/link.h"

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
  // When the link will have sent all packets that were passed on. Some of these reach the link only
  // after the next packet has come here.
  std::int64_t busy_until_ps_ = 0;
  std::map<PathId, std::deque<Parcel>> waiting_;  // none is empty
  PathId turn_ = 0;                               // no path before it is next
};

}  // namespace infold::sim
