// SPDX-License-Identifier: Apache-2.0
//
// What a tensor weighs on a link: chunks with their headers and frames for infold, TCP segments for
// the ring that it is compared with. Counts what is sent once; repeats, queries and
// acknowledgements are left out. Pure functions of sizes.
#pragma once

#include <cstdint>

#include "core/format.h"

namespace infold::predict {

struct Framing {
  std::uint32_t mtu = 1500;
  std::uint32_t ip_header_bytes = 20;  // 40 in IPv6
  // What a link adds to an IP packet. On Ethernet: header 14, checksum 4, preamble 8, gap 12. A
  // link shaped by Linux (tc) counts the header alone: 14.
  std::uint32_t frame_bytes = 38;
};

// All packets of a tensor between one worker and the sites, one way: its contributions, or the
// results for it, which are as many and as long.
struct Passage {
  std::uint64_t chunks = 0;
  std::uint64_t link_bytes = 0;
};

// Headers of a datagram.
std::uint32_t udp_headers_bytes(const Framing& framing);

// A last, incomplete element counts as one.
std::uint64_t tensor_elements(core::DataType type, std::uint64_t tensor_bytes);

// Requires: elements > 0, and an MTU that holds a block of the layout (576 holds any).
Passage passage_of(core::ElementLayout layout, std::uint64_t elements, const Framing& framing);

// What one message weighs over TCP with timestamps, in full segments.
std::uint64_t tcp_link_bytes(std::uint64_t message_bytes, const Framing& framing);

}  // namespace infold::predict
