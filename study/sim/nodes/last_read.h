// SPDX-License-Identifier: Apache-2.0
//
// Keeps the packet that some worker of a network has read last, in parsed form. An aggregator sends
// a result to all workers, which read it one after the other, so one of them parses it for all.
#pragma once

#include <cstdint>

#include "core/packet/packet.h"
#include "study/sim/network/packet_pool.h"

namespace infold::sim {

class LastRead {
 public:
  // Returns null if the packet is malformed. The result is valid until the next call, as long as
  // nobody writes the packet.
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
