// SPDX-License-Identifier: Apache-2.0
//
// Buffers for the datagrams under way, allocated once. A multicast is one buffer with many
// references, so a result for 64 workers is written once. The pool never grows. If a scenario needs
// more packets than the named maximum, it is broken, and the process stops. A caller that tolerates
// this gets a spare packet instead, and must end the run itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"

namespace infold::sim {

using PacketIndex = std::uint32_t;

class PacketPool {
 public:
  PacketPool(std::uint32_t packet_count_max, std::uint32_t packet_bytes_max);

  // Returns an empty packet with one reference.
  PacketIndex take();
  void retain(PacketIndex packet, std::uint32_t references) {
    packets_[packet].references += references;
  }
  void release(PacketIndex packet) {
    if (packet == spare()) return;
    CHECK_THAT(packets_[packet].references, >, 0U);
    if (--packets_[packet].references == 0) free_.push_back(packet);
  }

  // Returns the whole buffer for writing a datagram. set_bytes() then sets the datagram's length.
  std::span<std::byte> room(PacketIndex packet) {
    packets_[packet].version = ++versions_;
    return {at(packet), packet_bytes_max_};
  }
  // Returns the version of the packet's bytes, which changes with each room().
  std::uint32_t version(PacketIndex packet) const { return packets_[packet].version; }
  void set_bytes(PacketIndex packet, std::size_t bytes);
  std::span<const std::byte> bytes(PacketIndex packet) const {
    return {at(packet), packets_[packet].bytes};
  }

  // Returns a fingerprint of the bytes. It is computed once for all receivers of a multicast.
  std::uint64_t hash(PacketIndex packet);

  // A damaged packet carries the checksum of the original, with which the receiver compares. An
  // undamaged packet does not need a checksum, because computing it at both ends would take time
  // and find nothing.
  void mark_damaged(PacketIndex packet, std::uint16_t checksum_sent);
  bool damaged(PacketIndex packet) const { return packets_[packet].damaged; }
  std::uint16_t checksum_sent(PacketIndex packet) const { return packets_[packet].checksum; }

  // From now on, a shortage is only noted.
  void tolerate_shortage() { tolerates_shortage_ = true; }
  void note_shortage() {
    CHECK(tolerates_shortage_);
    ran_out_ = true;
  }
  bool ran_out() const { return ran_out_; }

  std::uint32_t in_use() const {
    return static_cast<std::uint32_t>(packet_count_max() - free_.size());
  }
  std::uint32_t high_water() const { return high_water_; }
  std::uint32_t packet_count_max() const { return static_cast<std::uint32_t>(packets_.size() - 1); }

 private:
  struct Packet {
    std::uint32_t bytes = 0;
    std::uint32_t references = 0;
    std::uint64_t hash = 0;  // 0: not yet computed
    std::uint16_t checksum = 0;
    bool damaged = false;
    std::uint32_t version = 0;
  };

  // The packet that all get who take one after the others have run out. It is never free.
  PacketIndex spare() const { return packet_count_max(); }
  std::byte* at(PacketIndex packet) const {
    return buffers_.get() + static_cast<std::size_t>(packet) * stride_;
  }

  std::uint32_t packet_bytes_max_;
  std::size_t stride_;
  std::unique_ptr<std::byte[]> buffers_;  // buffers above the high water are never touched
  std::vector<Packet> packets_;
  std::vector<PacketIndex> free_;  // last in, first out, so that few buffers stay in cache
  std::uint32_t high_water_ = 0;
  std::uint32_t versions_ = 0;
  bool tolerates_shortage_ = false;
  bool ran_out_ = false;
};

}  // namespace infold::sim
