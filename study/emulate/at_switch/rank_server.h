// SPDX-License-Identifier: Apache-2.0
//
// The sockets of emulated ranks. Each rank has its own port, to which a real switch sends results.
// If ranks sum, the sites of real ranks also send results there, and real ranks send to that port
// what they contribute to the emulated rank's site. Used by one thread: a ServeLoop's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/packet/packet.h"
#include "io/address/socket_address.h"
#include "io/udp/path_probe.h"
#include "join/registrar.h"
#include "study/emulate/options.h"
#include "study/emulate/paced_server.h"

namespace infold::emulate {

class RankServer final : public PacedServer {
 public:
  // Opens the sockets at the address of this host that faces the switch. An error says why there is
  // none.
  static Started<std::unique_ptr<RankServer>> open(const EmulationOptions& options);

  // Returns the address of each emulated rank. Any thread may call this.
  std::vector<io::SocketAddress> addresses() const;

  // Requires: either every rank has a site, and these sites come last, or none has. `sites` are the
  // addresses of all sites.
  void add(std::unique_ptr<EmulatedJob> job, const join::JobTerms& terms,
           const std::vector<io::SocketAddress>& sites);
  // Returns a function that sends a job's packets to sites and real ranks.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Parties {
    std::vector<Address> real_sites;         // without the sites of emulated ranks, which come last
    std::vector<io::SocketAddress> sources;  // by real rank; unset: any host
    // If ranks sum: the addresses of real ranks, by socket and real rank. They are learnt from the
    // packets that reach the site of the socket's rank, because a rank may use a different socket
    // for each site.
    std::vector<std::vector<Address>> ranks;
  };

  RankServer(std::uint32_t real, Sockets sockets) : PacedServer(std::move(sockets)), real_(real) {}

  void deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram);
  void take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) override;
  std::optional<Way> way_up(Parties& parties, std::size_t index, const core::Header& header,
                            const io::SocketAddress& from);
  std::optional<Way> way_down(const Parties& parties, std::size_t index,
                              const io::SocketAddress& from) const;
  void forget(std::uint16_t number) override { parties_.erase(number); }

  const std::uint32_t real_;                  // the first emulated rank
  std::map<std::uint16_t, Parties> parties_;  // by the job's number
  io::ProbeEcho echo_;
};

}  // namespace infold::emulate
