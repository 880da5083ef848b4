// SPDX-License-Identifier: Apache-2.0
//
// The sockets of emulated switches, where real ranks send their packets, and the jobs behind them.
// Each switch that a real rank is directly below has a socket for each site. One thread: a
// ServeLoop's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "control/registrar.h"
#include "emulate/options.h"
#include "emulate/paced_server.h"
#include "emulate/placement.h"
#include "io/address/socket_address.h"
#include "io/udp/path_probe.h"

namespace infold::emulate {

class PortalServer final : public PacedServer {
 public:
  // The first socket is at the address to listen at, the others at the ports behind it. The error
  // says why an address cannot be used.
  static base::Result<std::unique_ptr<PortalServer>> open(const EmulationOptions& options);

  // Of the switch that the rank is below, by site. Any thread.
  std::vector<io::SocketAddress> addresses_of(std::uint32_t real_rank) const;

  void add(std::unique_ptr<EmulatedJob> job, const control::JobTerms& terms);
  // Where a job's packets for real ranks go.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Ranks {
    std::vector<io::SocketAddress> sources;  // by rank; unset: any host
    // By real rank and site, from the rank's packets: a rank may have a socket for each site.
    std::vector<std::vector<Address>> addresses;
    // By socket: the real ranks, by their numbers as workers there.
    std::vector<std::map<std::uint8_t, std::uint16_t>> numbers;
  };

  PortalServer(RealSwitches switches, std::size_t sites, Sockets sockets)
      : PacedServer(std::move(sockets)), switches_(std::move(switches)), sites_(sites) {}

  // Those of the first switch come first.
  std::size_t socket_of(std::uint32_t real_rank, std::size_t site) const {
    return switches_.of_rank[real_rank] * sites_ + site;
  }
  void deliver(std::uint16_t number, std::uint16_t rank, std::uint8_t site,
               std::span<const std::byte> datagram);
  void take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) override;
  void forget(std::uint16_t number) override { ranks_.erase(number); }

  const RealSwitches switches_;
  const std::size_t sites_;
  std::map<std::uint16_t, Ranks> ranks_;  // by the number of their job
  io::ProbeEcho echo_;
};

}  // namespace infold::emulate
