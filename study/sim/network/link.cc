// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a link's queue.
#include "study/sim/network/link.h"

#include <algorithm>

namespace infold::sim {
namespace {

constexpr std::int64_t kPsPerNs = 1'000;
constexpr std::int64_t kBitPsPerByte = 8 * 1'000'000'000'000;
constexpr double kQueueSeconds = 0.02;
constexpr std::int64_t kQueueBytesMin = 96 << 10;

}  // namespace

std::int64_t port_queue_bytes(double bits_per_second) {
  return std::max(kQueueBytesMin, static_cast<std::int64_t>(bits_per_second / 8 * kQueueSeconds));
}

Link::Link(const LinkOptions& options, NodeId self)
    : options_(options),
      self_(self),
      ps_per_byte_(options.bits_per_second == 0 ? 0 : kBitPsPerByte / options.bits_per_second) {}

std::int64_t Link::queued_ps(base::Instant now) const {
  return std::max<std::int64_t>(busy_until_ps_ - now.ns * kPsPerNs, 0);
}

std::int64_t Link::queued_bytes(base::Instant now) const {
  const std::int64_t queued = queued_ps(now);
  return queued == 0 ? 0 : queued / ps_per_byte_;
}

std::int64_t Link::queued_bytes_high_water() const {
  return queued_ps_high_water_ == 0 ? 0 : queued_ps_high_water_ / ps_per_byte_;
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
  const std::int64_t sending = datagram_ps(payload);
  const std::int64_t queued = queued_ps(now) + sending;
  if (queued >= sending_ps(options_.queue_bytes_max + 1)) {
    outlet.drop(parcel, DropCause::queue);
    return;
  }
  queued_ps_high_water_ = std::max(queued_ps_high_water_, queued);
  busy_until_ps_ = now.ns * kPsPerNs + queued;
  busy_ps_ += sending;
  const base::Instant sent{(busy_until_ps_ + kPsPerNs - 1) / kPsPerNs};
  outlet.forward(sent + options_.delay, self_, parcel);
}

}  // namespace infold::sim
