// SPDX-License-Identifier: Apache-2.0
//
// Tests before a job starts whether datagrams of full size come back from a site's host. A
// firewall may drop UDP, or a path may carry less than the MTU of its ends and not report it.
// Without the probe, either would look like an aggregator that never answers.
#pragma once

#include <array>
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
  bool carries = false;       // datagrams of full size, both ways
  base::Duration round_trip;  // of the first one that came back
};

// Sends small and full probes until a full one has come back from each site, or until `limit` has
// passed. Reads everything that the socket receives. Requires: datagram_bytes of at least 64.
std::vector<PathReport> probe_paths(UdpSocket& socket, std::span<const SocketAddress> sites,
                                    std::size_t datagram_bytes, base::Duration limit);
PathReport probe_path(UdpSocket& socket, const SocketAddress& site, std::size_t datagram_bytes,
                      base::Duration limit);

// The other end: turns the probe into its answer, in place. Returns false if it is no probe.
bool answer_probe(std::span<std::byte> probe);
bool is_probe(std::span<const std::byte> datagram);

// Sends answers. Each is as long as its probe, so a forged source address gains no amplification.
class ProbeEcho {
 public:
  // Flushes the socket.
  void send(UdpSocket& socket, const SocketAddress& to, std::span<const std::byte> probe);

 private:
  std::array<SocketAddress, 1> to_;
  std::vector<std::byte> answer_;
};

}  // namespace infold::io
