// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a link's queue.
#include "sim/link.h"

#include <algorithm>

namespace infold::sim {
namespace {

constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::int64_t kBitPsPerByte = 8 * 1'000'000'000'000;

}  // namespace

Link::Link(const LinkOptions& options, NodeId self)
    : options_(options),
      self_(self),
      ps_per_byte_(options.bits_per_second == 0 ? 0 : kBitPsPerByte / options.bits_per_second) {}

std::int64_t Link::queued_bytes(base::Instant now) const {
  const std::int64_t busy_ps = busy_until_ps_ - now.ns * kPsPerNs;
  return busy_ps <= 0 ? 0 : busy_ps / ps_per_byte_;
}

base::Instant Link::drained_to(std::int64_t bytes) const {
  return {(busy_until_ps_ - bytes * ps_per_byte_) / kPsPerNs + 1};
}

void Link::handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) {
  if (options_.bits_per_second == 0) {
    outlet.forward(now + options_.delay, self_, parcel);
    return;
  }
  const auto payload = static_cast<std::int64_t>(outlet.packets().bytes(parcel.packet).size());
  const std::int64_t frame_bytes = payload + kFrameOverheadBytes;
  const std::int64_t queued = queued_bytes(now) + frame_bytes;
  if (queued > options_.queue_bytes_max) {
    outlet.drop(parcel, DropCause::queue);
    return;
  }
  queued_bytes_high_water_ = std::max(queued_bytes_high_water_, queued);
  const std::int64_t start_ps = std::max(busy_until_ps_, now.ns * kPsPerNs);
  busy_until_ps_ = start_ps + frame_bytes * ps_per_byte_;
  const base::Instant sent{(busy_until_ps_ + kPsPerNs - 1) / kPsPerNs};
  outlet.forward(sent + options_.delay, self_, parcel);
}

}  // namespace infold::sim
