// SPDX-License-Identifier: Apache-2.0
//
// Which ways lead from this host to an address: the kernel's own, and those over other interfaces.
// Needs no privileges, and sends nothing but TCP handshakes.
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::io {

struct Route {
  std::string interface;      // empty if no interface has the address
  SocketAddress local;        // without a port
  int mtu_bytes = 0;          // of the route as far as the kernel knows, not of the whole path
  int speed_mbps = 0;         // as the interface says; 0 where it does not
  base::Duration round_trip;  // of a handshake; 0 if none was made
  bool is_own = false;        // what the kernel takes by itself
};

// The kernel's own route. Fails where there is none.
base::Result<Route> route_to(const SocketAddress& there);

// The kernel's own route, then those over other interfaces from which a TCP handshake with `there`
// was answered, accepted or not. With a single interface nothing is sent; else it takes up to a
// quarter of a second.
base::Result<std::vector<Route>> routes_to(const SocketAddress& there);

// Of the highest speed, then of the shortest round trip; of about equals, the first.
// Requires: !routes.empty().
const Route& best_route(const std::vector<Route>& routes);

// Bytes of the IP and UDP headers of a datagram to or from this address.
int header_bytes(const SocketAddress& address);

}  // namespace infold::io
