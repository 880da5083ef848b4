// SPDX-License-Identifier: Apache-2.0
//
// Cuts the tensor of a replay into packets, as a rank of a job with one site does.
#pragma once

#include <cstdint>

#include "core/packet/packet.h"
#include "plan/plan.h"
#include "study/measure/host/replay.h"

namespace infold::measure {

// The bytes that IPv4 and UDP add to a datagram.
inline constexpr std::uint32_t kUdpHeaderBytes = 28;

struct ChunkShape {
  explicit ChunkShape(const Replay& replay)
      : datagram_bytes_max(replay.mtu - kUdpHeaderBytes),
        elements(core::chunk_elements(replay.layout, {.datagram_bytes_max = datagram_bytes_max})),
        tensor_bytes(std::uint64_t{elements} * infold::element_bytes(replay.layout.dtype)),
        datagram_bytes(core::datagram_bytes(core::Kind::add, replay.layout, elements, false)),
        count((replay.bytes + tensor_bytes - 1) / tensor_bytes) {}

  std::uint32_t datagram_bytes_max;
  std::uint32_t elements;
  std::uint64_t tensor_bytes;  // bytes of tensor in one packet
  std::size_t datagram_bytes;
  std::uint64_t count;  // the packets for the whole tensor
};

}  // namespace infold::measure
