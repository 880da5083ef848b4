// SPDX-License-Identifier: Apache-2.0
//
// Whether datagrams of full size come back from a site's host, before a job counts on it:
// a firewall that drops UDP, or a path that carries less than its ends' MTU and does not say so,
// would else look like an aggregator that never answers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/instant.h"
#include "io/udp/udp_socket.h"

namespace infold::io {

// A limit that makes fifty tries: a path that loses a third of all packets passes.
inline constexpr base::Duration kProbeMax = base::seconds(1);

struct PathReport {
  bool answers = false;       // to small datagrams
  bool carries = false;       // those of full size, there and back
  base::Duration round_trip;  // of the first one that came back
};

// Repeats both kinds until a full one has come back from each site, or for `limit`. Reads all that
// comes to the socket. Requires: datagram_bytes of at least 64.
std::vector<PathReport> probe_paths(UdpSocket& socket, std::span<const SocketAddress> sites,
                                    std::size_t datagram_bytes, base::Duration limit);
PathReport probe_path(UdpSocket& socket, const SocketAddress& site, std::size_t datagram_bytes,
                      base::Duration limit);

// The other end: writes the answer into `probe`, in place; false if it is none.
bool answer_probe(std::span<std::byte> probe);
bool is_probe(std::span<const std::byte> datagram);

}  // namespace infold::io
