// SPDX-License-Identifier: Apache-2.0
//
// The route of a rank's packets, found before any of them flow: where the job's join servers are,
// the interface and the local address that lead there, the largest datagram, and whether such
// datagrams pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include <infold/join_options.h>
#include <infold/result.h>

#include "base/instant.h"
#include "io/address/route.h"
#include "io/udp/udp_socket.h"

namespace infold::rank {

// The address of "host:port". The error names the host, and says whether time ran out.
Result<io::SocketAddress> look_up_host(const std::string& name, base::Instant deadline,
                                       const std::stop_token& stop);

struct PacketRoute {
  io::Route route;
  std::uint32_t datagram_bytes_max = 0;

  // Uses the interface with the address that the options give, otherwise the best one that reaches
  // the host. `name` is the host's name for errors.
  static Result<PacketRoute> choose(const JoinOptions& options, const std::string& name,
                                    const io::SocketAddress& host);

  io::UdpOptions udp_options() const;  // options for sockets whose packets go this way
  std::string text() const;            // for people: "10.0.0.3 (eth0)"
};

// Checks that datagrams of this size reach each site and come back within `limit`. The error names
// the first site from which they do not come back.
Result<void> probe_sites(const PacketRoute& route, io::UdpSocket& socket,
                         std::span<const io::SocketAddress> sites, std::size_t datagram_bytes,
                         base::Duration limit);

}  // namespace infold::rank
