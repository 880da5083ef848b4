// SPDX-License-Identifier: Apache-2.0
#include "sim/network/host_queue.h"

namespace infold::sim {

void HostQueue::handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) {
  waiting_.push_back(parcel);
  if (waiting_.size() == 1) handle_timeout(now, outlet);
}

void HostQueue::handle_timeout(base::Instant now, Outlet& outlet) {
  const std::int64_t limit_ps = link_.sending_ps(bytes_);
  std::int64_t queued_ps = link_.queued_ps(now);
  while (!waiting_.empty() && queued_ps < limit_ps) {
    const Parcel parcel = waiting_.front();
    waiting_.pop_front();
    const auto bytes = static_cast<std::int64_t>(outlet.packets().bytes(parcel.packet).size());
    queued_ps += link_.datagram_ps(bytes);
    outlet.forward(now, self_, parcel);
  }
}

// The frames that were passed on are in the link's queue when the network asks again.
base::Instant HostQueue::next_timeout() const {
  return waiting_.empty() ? base::Instant::never() : link_.drained_to(bytes_);
}

}  // namespace infold::sim
