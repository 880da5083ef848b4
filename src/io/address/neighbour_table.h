// SPDX-License-Identifier: Apache-2.0
//
// The Ethernet addresses of this host's IPv4 neighbours, as the kernel has learned them. Nothing is
// sent, so a neighbour is known only after packets to or from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "io/address/socket_address.h"

namespace infold::io {

// Returns the neighbour's Ethernet address as a number, whose highest byte comes first on the wire.
std::optional<std::uint64_t> find_ethernet_address(const SocketAddress& neighbour);

// Finds a numeric address in the text of /proc/net/arp.
std::optional<std::uint64_t> find_ethernet_address(std::string_view table, std::string_view host);

}  // namespace infold::io
