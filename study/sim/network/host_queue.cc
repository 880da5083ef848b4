// SPDX-License-Identifier: Apache-2.0
#include "study/sim/network/host_queue.h"

#include <algorithm>

namespace infold::sim {
namespace {

constexpr std::int64_t kPsPerNs = 1'000;

}  // namespace

void HostQueue::handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) {
  const bool was_empty = waiting_.empty();
  waiting_[parcel.path].push_back(parcel);
  if (was_empty) handle_timeout(now, outlet);
}

void HostQueue::handle_timeout(base::Instant now, Outlet& outlet) {
  const std::int64_t now_ps = now.ns * kPsPerNs;
  const std::int64_t limit_ps = link_.sending_ps(bytes_);
  busy_until_ps_ = std::max(busy_until_ps_, now_ps + link_.queued_ps(now));
  while (!waiting_.empty() && busy_until_ps_ - now_ps < limit_ps) {
    auto next = waiting_.lower_bound(turn_);
    if (next == waiting_.end()) next = waiting_.begin();
    const Parcel parcel = next->second.front();
    turn_ = static_cast<PathId>(next->first + 1);
    next->second.pop_front();
    if (next->second.empty()) waiting_.erase(next);
    const auto bytes = static_cast<std::int64_t>(outlet.packets().bytes(parcel.packet).size());
    busy_until_ps_ += link_.datagram_ps(bytes);
    outlet.forward(now, self_, parcel);
  }
}

base::Instant HostQueue::next_timeout() const {
  if (waiting_.empty()) return base::Instant::never();
  return {(busy_until_ps_ - link_.sending_ps(bytes_)) / kPsPerNs + 1};
}

}  // namespace infold::sim
