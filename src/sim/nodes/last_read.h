// SPDX-License-Identifier: Apache-2.0
//
// The packet that some worker of a network has read last, as it was parsed. An aggregator sends a
// result to all workers, and they read it one after the other. So one of them parses it for all.
#pragma once

#include <cstdint>

#include "core/packet/packet.h"
#include "sim/network/packet_pool.h"

namespace infold::sim {

class LastRead {
 public:
  // Null: it is malformed. Valid until the next call, and while the packet is not written.
  const core::Packet* parse(const PacketPool& packets, PacketIndex packet) {
    const std::uint32_t version = packets.version(packet);
    if (packet != packet_ || version != version_) {
      parsed_ = {};
      is_sound_ = core::parse(packets.bytes(packet), parsed_) == core::Malformed::none;
      packet_ = packet;
      version_ = version;
    }
    return is_sound_ ? &parsed_ : nullptr;
  }

 private:
  PacketIndex packet_ = ~PacketIndex{0};  // none
  std::uint32_t version_ = 0;
  core::Packet parsed_;
  bool is_sound_ = false;
};

}  // namespace infold::sim
