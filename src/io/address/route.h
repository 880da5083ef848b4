// SPDX-License-Identifier: Apache-2.0
//
// Finds the routes from this host to an address: the kernel's own, and those over other interfaces.
// Needs no privileges, and sends only TCP handshakes.
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
  int mtu_bytes = 0;          // of the route, as the kernel knows it; the path may carry less
  int speed_mbps = 0;         // of the interface; 0 if it does not say
  base::Duration round_trip;  // of a TCP handshake; 0 if there was none
  bool is_own = false;        // the kernel chooses this route by itself
};

// Returns the kernel's own route. Fails if the kernel has none.
base::Result<Route> route_to(const SocketAddress& there);

// Returns the kernel's own route first, then each route over another interface from which `there`
// answered a TCP handshake, with an acceptance or a reset. Sends nothing if the host has a single
// interface. Otherwise takes up to 250 ms.
base::Result<std::vector<Route>> routes_to(const SocketAddress& there);

// The route of the highest speed, then of the shortest round trip. Of about equal routes, the first
// one. Requires: !routes.empty().
const Route& best_route(const std::vector<Route>& routes);

// Bytes of the IP and UDP headers of a datagram to or from this address.
int header_bytes(const SocketAddress& address);

}  // namespace infold::io
