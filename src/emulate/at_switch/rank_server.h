// SPDX-License-Identifier: Apache-2.0
//
// The sockets of emulated ranks, each at a port of its own, where a real switch sends results.
// Where ranks sum, the sites of real ranks send results there, too, and real ranks send what they
// contribute to the site of the emulated rank. One thread: a ServeLoop's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "control/registrar.h"
#include "core/packet/packet.h"
#include "emulate/options.h"
#include "emulate/paced_server.h"
#include "io/address/socket_address.h"
#include "io/udp/path_probe.h"

namespace infold::emulate {

class RankServer final : public PacedServer {
 public:
  // At this host's address on the way to the switch. The error says why there is none.
  static Started<std::unique_ptr<RankServer>> open(const EmulationOptions& options);

  // Any thread. By emulated rank.
  std::vector<io::SocketAddress> addresses() const;

  // Requires: sites at ranks come last, and each rank has one, or none has. The addresses are those
  // of all sites.
  void add(std::unique_ptr<EmulatedJob> job, const control::JobTerms& terms,
           const std::vector<io::SocketAddress>& sites);
  // Where a job's packets for sites and real ranks go.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Parties {
    std::vector<Address> real_sites;  // those of emulated ranks, which would come last, left out
    std::vector<io::SocketAddress> sources;  // by real rank; unset: any host
    // By socket and real rank, where ranks sum: from the rank's packets to the site of the
    // socket's rank. A rank may have a socket for each site.
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
  std::map<std::uint16_t, Parties> parties_;  // by the number of their job
  io::ProbeEcho echo_;
};

}  // namespace infold::emulate
