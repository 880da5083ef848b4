// SPDX-License-Identifier: Apache-2.0
//
// Draws the faults of each packet.
#include "study/sim/network/faults.h"

#include <algorithm>

#include "study/sim/network/checksum.h"

namespace infold::sim {

void Faults::handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) {
  if (now >= options_.until) {
    outlet.forward(now, self_, parcel);
    return;
  }
  if (random_.chance(options_.loss)) {
    outlet.drop(parcel, DropCause::loss);
    return;
  }
  if (lost_in_burst()) {
    outlet.drop(parcel, DropCause::burst);
    return;
  }
  if (random_.chance(options_.duplicate)) {
    outlet.packets().retain(parcel.packet, 1);
    outlet.forward(leaves_at(now), self_, parcel);
  }
  if (random_.chance(options_.corrupt)) parcel = damaged(parcel, outlet.packets());
  outlet.forward(leaves_at(now), self_, parcel);
}

bool Faults::lost_in_burst() {
  if (options_.burst_start <= 0) return false;
  in_burst_ = random_.chance(in_burst_ ? 1 - 1 / options_.burst_packets : options_.burst_start);
  return in_burst_;
}

base::Instant Faults::leaves_at(base::Instant now) {
  if (options_.jitter_max.ns > 0)
    now = now + base::Duration{random_.between(0, options_.jitter_max.ns)};
  last_left_ = std::max(last_left_, now);
  if (!random_.chance(options_.reorder)) return last_left_;
  return last_left_ + base::Duration{random_.between(0, options_.reorder_max.ns)};
}

Parcel Faults::damaged(Parcel parcel, PacketPool& packets) {
  const PacketIndex copy = packets.take();
  const auto bytes = packets.bytes(parcel.packet);
  const auto room = packets.room(copy);
  std::copy(bytes.begin(), bytes.end(), room.begin());
  packets.set_bytes(copy, bytes.size());
  packets.mark_damaged(copy, packets.damaged(parcel.packet) ? packets.checksum_sent(parcel.packet)
                                                            : udp_checksum(bytes));

  const std::uint64_t length = 1 + random_.below(kDamageBitsMax);
  const std::uint64_t first = random_.below(bytes.size() * 8 - length + 1);
  const std::uint64_t ends = std::uint64_t{1} | (std::uint64_t{1} << (length - 1));
  const std::uint64_t pattern = random_.below(std::uint64_t{1} << length) | ends;
  for (std::uint64_t i = 0; i < length; ++i) {
    const std::uint64_t bit = first + i;
    if ((pattern >> i & 1) != 0) room[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  packets.release(parcel.packet);
  parcel.packet = copy;
  return parcel;
}

}  // namespace infold::sim
