// SPDX-License-Identifier: Apache-2.0
//
// The largest number of elements per second that a link carries in packets of one kind: the link's
// rate divided by the bits of a whole frame, times its elements. A frame includes preamble and gap.
// Pure arithmetic.
#pragma once

#include <cstdint>

namespace infold::reproduce {

// One packet with elements of 4 bytes, as the bytes that it takes on a link.
struct Frame {
  std::uint32_t elements = 0;
  std::uint32_t bytes = 0;

  double payload_share() const { return 4.0 * elements / bytes; }
  double elements_per_second(double bits_per_second) const {
    return bits_per_second / (8.0 * bytes) * elements;
  }
};

// SwitchML over UDP: Ethernet 14, IPv4 20, UDP 8, its header 8, two exponents 2, elements, checksum
// 4, preamble and gap 20.
Frame switchml_udp_frame(std::uint32_t elements);
// The middle packet of a SwitchML message over RoCE: Ethernet 14, IPv4 20, UDP 8, base header 12,
// elements, invariant checksum 4, checksum 4, preamble and gap 20.
Frame switchml_rdma_frame(std::uint32_t elements);
// infold in bfp32: Ethernet 14, IPv4 20, UDP 8, header 32, an exponent for each 32 elements padded
// to 4 bytes, elements, checksum 4, preamble and gap 20.
Frame infold_frame(std::uint32_t elements);
// The same in i32, which has no exponents.
Frame infold_integer_frame(std::uint32_t elements);

// A ring moves 2 (n - 1) / n of a tensor in each direction, in full TCP segments at MTU 1500.
double ring_elements_per_second(double bits_per_second, std::uint32_t workers);

}  // namespace infold::reproduce
