// SPDX-License-Identifier: Apache-2.0
//
// The sockets that exchange packets with real ranks, and the jobs behind them. Used by one thread:
// a ServeLoop's.
//
// Each switch directly above a real rank has a socket for each site. Where ranks sum, each rank has
// a socket as well, in two roles. To all other real ranks it is the rank's site. To the sites of
// real ranks it is the rank's worker.
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
#include "study/emulate/job_shape.h"
#include "study/emulate/options.h"
#include "study/emulate/paced_server.h"

namespace infold::emulate {

class PortalServer final : public PacedServer {
 public:
  // The first socket has the address to listen at, and the others have the following ports.
  static Started<std::unique_ptr<PortalServer>> open(const EmulationOptions& options);

  // Any thread may call these three.
  io::SocketAddress address() const { return socket(0).local_address(); }
  // Returns the addresses of the switch that the rank is below, by site.
  std::vector<io::SocketAddress> switch_addresses(std::uint32_t real_rank) const;
  // Returns addresses by rank, if ranks sum.
  std::vector<io::SocketAddress> rank_addresses() const;

  void add(std::unique_ptr<EmulatedJob> job, const join::JobTerms& terms);
  // Returns a function that sends a job's packets to real ranks.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Ranks {
    std::vector<io::SocketAddress> sources;  // by rank; unset: any host
    // The addresses by real rank and site. They are learnt from packets, because a rank
    // may use a different socket for each site.
    std::vector<std::vector<Address>> addresses;
    // By socket: the real ranks, by their worker numbers there.
    std::vector<std::map<std::uint8_t, std::uint16_t>> numbers;
    std::vector<Address> own_sites;  // by real rank, if ranks sum
  };

  PortalServer(RealSwitches switches, std::size_t sites, Sockets sockets)
      : PacedServer(std::move(sockets)),
        switches_(std::move(switches)),
        sites_(sites),
        switch_sockets_(switches_.racks.size() * sites) {}

  // The sockets of the first switch come first, and the sockets of ranks last.
  std::size_t socket_of(std::uint32_t real_rank, std::size_t site) const {
    return site < sites_ ? switches_.of_rank[real_rank] * sites_ + site
                         : switch_sockets_ + site - sites_;
  }
  std::uint8_t site_of(std::size_t socket) const {
    return static_cast<std::uint8_t>(socket < switch_sockets_ ? socket % sites_
                                                              : sites_ + socket - switch_sockets_);
  }
  void deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram);
  void take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) override;
  std::optional<Way> way_up(Ranks& ranks, std::size_t index, const core::Header& header,
                            const io::SocketAddress& from);
  std::optional<Way> way_down(const Ranks& ranks, std::size_t index,
                              const io::SocketAddress& from) const;
  void forget(std::uint16_t number) override { ranks_.erase(number); }

  const RealSwitches switches_;
  const std::size_t sites_;  // sites of each switch
  const std::size_t switch_sockets_;
  std::map<std::uint16_t, Ranks> ranks_;  // by the job's number
  io::ProbeEcho echo_;
};

}  // namespace infold::emulate
