// SPDX-License-Identifier: Apache-2.0
#include "emulate/at_switch/rank_server.h"

#include <algorithm>
#include <utility>

#include "core/packet/packet.h"
#include "io/address/route.h"

namespace infold::emulate {

Started<std::unique_ptr<RankServer>> RankServer::open(const EmulationOptions& options) {
  const base::Result<io::Route> route = io::route_to(options.real_switch);
  if (!route) {
    return tl::unexpected(StartError{"switch", "cannot be reached: no route", options.real_switch});
  }
  io::UdpOptions udp;
  udp.bind = route->local;
  udp.bind.set_port(0);
  Started<Sockets> sockets = open_sockets(udp, options.ranks - options.real);
  if (!sockets) return tl::unexpected(sockets.error());
  return std::unique_ptr<RankServer>(new RankServer(options.real, std::move(*sockets)));
}

void RankServer::add(std::unique_ptr<EmulatedJob> job, std::uint16_t number,
                     const std::vector<io::SocketAddress>& sites) {
  std::vector<Address> addresses;
  for (const io::SocketAddress& site : sites) addresses.push_back({site});
  sites_[number] = std::move(addresses);
  PacedServer::add(number, std::move(job));
}

EmulatedJob::Deliver RankServer::deliver_to(std::uint16_t number) {
  return [this, number](Way way, std::span<const std::byte> bytes) { deliver(number, way, bytes); };
}

void RankServer::deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram) {
  const auto sites = sites_.find(number);
  if (sites != sites_.end()) socket(way.rank - real_).send(sites->second[way.site], datagram);
}

// Only the sites of a job know its ranks' ports, and a packet must come from one of them.
void RankServer::take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) {
  core::Packet packet;
  if (core::parse(arrival.datagram, packet) != core::Malformed::none) return;
  const auto found = sites_.find(packet.header.job);
  if (found == sites_.end() || !core::travels_down(packet.header.kind)) return;
  const std::vector<Address>& sites = found->second;
  const auto site = std::find_if(sites.begin(), sites.end(),
                                 [&](const Address& each) { return each[0] == *arrival.from; });
  if (site == sites.end()) return;
  find(packet.header.job)
      ->take(now,
             {static_cast<std::uint16_t>(real_ + index),
              static_cast<std::uint8_t>(site - sites.begin()), true},
             arrival.datagram);
}

}  // namespace infold::emulate
