// SPDX-License-Identifier: Apache-2.0
//
// The bytes that a tensor takes on a link: chunks with their headers and frames for infold, and TCP
// segments for the ring that it is compared with. Counts only first transmissions, and leaves out
// retransmissions, queries and acknowledgements. Pure functions of sizes.
#pragma once

#include <cstdint>

#include "core/format.h"

namespace infold::predict {

struct Framing {
  std::uint32_t mtu = 1500;
  std::uint32_t ip_header_bytes = 20;  // 40 in IPv6
  // What a link adds to an IP packet. On Ethernet this is header 14, checksum 4, preamble 8 and gap
  // 12. A link shaped by Linux (tc) counts only the header: 14.
  std::uint32_t frame_bytes = 38;
};

// All packets of a tensor between one worker and the sites, in one direction: its contributions, or
// the results for it, which are equally many and equally long.
struct Passage {
  std::uint64_t chunks = 0;
  std::uint64_t link_bytes = 0;
};

// Returns the size of a datagram's headers.
std::uint32_t udp_headers_bytes(const Framing& framing);

// An incomplete last element counts as a whole one.
std::uint64_t tensor_elements(core::DataType type, std::uint64_t tensor_bytes);

// Requires: elements > 0, and an MTU that holds a block of the layout (576 is enough for any).
Passage passage_of(core::ElementLayout layout, std::uint64_t elements, const Framing& framing);

// Returns the bytes of one message over TCP with timestamps, in full segments.
std::uint64_t tcp_link_bytes(std::uint64_t message_bytes, const Framing& framing);

}  // namespace infold::predict
