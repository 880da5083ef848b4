// SPDX-License-Identifier: Apache-2.0
//
// Puts datagrams into Ethernet frames and takes them out, with every length and checksum that the
// packet program reads. This is for test-runs; for real traffic, the kernel does it.
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
  io::SocketAddress target;  // has the source's address family
};

std::vector<std::byte> make_frame(const FrameAddresses& addresses,
                                  std::span<const std::byte> datagram);

// The UDP datagram in a frame, or nothing if a length or checksum is wrong.
std::optional<std::vector<std::byte>> read_frame(std::span<const std::byte> frame);

}  // namespace infold::xdp
