// SPDX-License-Identifier: Apache-2.0
//
// Finds the routes from this host to an address: the one that the kernel chooses, and the ones over
// other interfaces. It needs no privileges and sends nothing but TCP handshakes.
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
  int mtu_bytes = 0;          // as the kernel knows it; the path may carry less
  int speed_mbps = 0;         // the interface's speed; 0 if it does not say
  base::Duration round_trip;  // how long a TCP handshake took; 0 if there was none
  bool is_own = false;        // the kernel chooses this route by itself
};

// Returns the route that the kernel chooses. Fails if the kernel has none.
base::Result<Route> route_to(const SocketAddress& there);

// Returns the kernel's own route first, then each route over another interface on which `there`
// answered a TCP handshake, whether it accepted or reset it. Sends nothing if the host has a single
// interface. Otherwise takes at most 0.6 s.
base::Result<std::vector<Route>> routes_to(const SocketAddress& there);

// Returns the fastest route. If speeds are equal or unknown, one whose round trip is more than a
// fifth shorter wins; otherwise the first one does. Requires: !routes.empty().
const Route& best_route(const std::vector<Route>& routes);

// The length of the IP and UDP headers of a datagram to or from this address.
int header_bytes(const SocketAddress& address);

}  // namespace infold::io
