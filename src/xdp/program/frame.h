// SPDX-License-Identifier: Apache-2.0
//
// Datagrams in Ethernet frames and back, with every length and checksum that the packet program
// looks at. For test-runs: on a wire the kernel does this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/address/socket_address.h"

namespace infold::xdp {

struct FrameAddresses {
  io::SocketAddress source;
  io::SocketAddress target;  // of the same family
};

std::vector<std::byte> make_frame(const FrameAddresses& addresses,
                                  std::span<const std::byte> datagram);

// The UDP datagram in a frame; nothing if a length or checksum is wrong.
std::optional<std::vector<std::byte>> read_frame(std::span<const std::byte> frame);

}  // namespace infold::xdp
