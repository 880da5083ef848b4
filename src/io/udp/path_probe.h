// SPDX-License-Identifier: Apache-2.0
//
// Tests before a job starts whether datagrams of full size come back from a site's host. A
// firewall may drop UDP, or a link on the path may silently drop what is longer than its own MTU.
// Without the probe, either would look like an aggregator that never answers.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/instant.h"
#include "io/udp/udp_socket.h"

namespace infold::io {

// Long enough for fifty tries, so that a path that loses a third of all packets still passes.
inline constexpr base::Duration kProbeMax = base::seconds(1);

struct PathReport {
  bool answers = false;       // something came back
  bool carries = false;       // datagrams of full size came back
  base::Duration round_trip;  // how long the first probe took that came back
};

// Sends small and full probes until a full one has come back from each site, or until `limit` has
// passed. Consumes everything that the socket receives. Requires: datagram_bytes is greater than
// INFOLD_PROBE_BYTES_MIN.
std::vector<PathReport> probe_paths(UdpSocket& socket, std::span<const SocketAddress> sites,
                                    std::size_t datagram_bytes, base::Duration limit);
PathReport probe_path(UdpSocket& socket, const SocketAddress& site, std::size_t datagram_bytes,
                      base::Duration limit);

// For the other end: turns the probe into its answer in place. Returns false if the datagram is not
// a probe.
bool answer_probe(std::span<std::byte> probe);
bool is_probe(std::span<const std::byte> datagram);

// Sends the answers. Each is as long as its probe, so a forged source address does not amplify
// traffic.
class ProbeEcho {
 public:
  // Flushes the socket.
  void send(UdpSocket& socket, const SocketAddress& to, std::span<const std::byte> probe);

 private:
  std::array<SocketAddress, 1> to_;
  std::vector<std::byte> answer_;
};

}  // namespace infold::io
