// SPDX-License-Identifier: Apache-2.0
//
// The functions of the packet pool that are not needed for every hop.
#include "study/sim/network/packet_pool.h"

#include <algorithm>

#include "study/sim/network/checksum.h"

namespace infold::sim {
namespace {

// Packets are aligned to this, so that neighbours do not share a cache line.
constexpr std::size_t kLineBytes = 64;

}  // namespace

PacketPool::PacketPool(std::uint32_t packet_count_max, std::uint32_t packet_bytes_max)
    : packet_bytes_max_(packet_bytes_max),
      stride_((packet_bytes_max + kLineBytes - 1) / kLineBytes * kLineBytes),
      buffers_(std::make_unique_for_overwrite<std::byte[]>((packet_count_max + std::size_t{1}) *
                                                           stride_)),
      packets_(packet_count_max + std::size_t{1}) {
  free_.resize(packet_count_max);
  for (std::uint32_t i = 0; i < packet_count_max; ++i) free_[i] = packet_count_max - 1 - i;
}

PacketIndex PacketPool::take() {
  if (free_.empty()) {
    note_shortage();
    packets_[spare()] = {};
    packets_[spare()].references = 1;
    return spare();
  }
  const PacketIndex packet = free_.back();
  free_.pop_back();
  packets_[packet] = {};
  packets_[packet].references = 1;
  high_water_ = std::max(high_water_, in_use());
  return packet;
}

void PacketPool::set_bytes(PacketIndex packet, std::size_t bytes) {
  CHECK_THAT(bytes, <=, packet_bytes_max_);
  packets_[packet].bytes = static_cast<std::uint32_t>(bytes);
}

std::uint64_t PacketPool::hash(PacketIndex packet) {
  std::uint64_t& hash = packets_[packet].hash;
  if (hash == 0) hash = hash_bytes(bytes(packet), 1) | 1;
  return hash;
}

void PacketPool::mark_damaged(PacketIndex packet, std::uint16_t checksum_sent) {
  CHECK_THAT(packets_[packet].references, ==, 1U);  // other receivers must not see the damage
  packets_[packet].damaged = true;
  packets_[packet].checksum = checksum_sent;
}

}  // namespace infold::sim
