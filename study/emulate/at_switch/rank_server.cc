// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/at_switch/rank_server.h"

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

std::vector<io::SocketAddress> RankServer::addresses() const {
  std::vector<io::SocketAddress> addresses;
  for (std::size_t index = 0; index < socket_count(); ++index) {
    addresses.push_back(socket(index).local_address());
  }
  return addresses;
}

void RankServer::add(std::unique_ptr<EmulatedJob> job, const join::JobTerms& terms,
                     const std::vector<io::SocketAddress>& sites) {
  const bool ranks_sum = terms.sites.back().at_rank;
  Parties parties;
  for (const io::SocketAddress& site : sites) parties.real_sites.push_back({site});
  parties.sources = terms.rank_sources;
  parties.sources.resize(real_);
  if (ranks_sum) {
    parties.real_sites.resize(sites.size() - socket_count());
    parties.ranks.assign(socket_count(), std::vector<Address>(real_));
  }
  parties_[terms.job] = std::move(parties);
  PacedServer::add(terms.job, std::move(job));
}

EmulatedJob::Deliver RankServer::deliver_to(std::uint16_t number) {
  return [this, number](Way way, std::span<const std::byte> bytes) { deliver(number, way, bytes); };
}

void RankServer::deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram) {
  const auto found = parties_.find(number);
  if (found == parties_.end()) return;
  const Parties& parties = found->second;
  if (!way.is_down) {
    socket(way.rank - real_).send(parties.real_sites[way.site], datagram);
    return;
  }
  const std::size_t owner = way.site - parties.real_sites.size();
  const Address& to = parties.ranks[owner][way.rank];
  if (to[0].is_set()) socket(owner).send(to, datagram);
}

void RankServer::take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) {
  const io::SocketAddress& from = *arrival.from;
  if (io::is_probe(arrival.datagram)) {
    echo_.send(socket(index), from, arrival.datagram);
    return;
  }
  core::Packet packet;
  if (core::parse(arrival.datagram, packet) != core::Malformed::none) return;
  const core::Header& header = packet.header;
  const auto found = parties_.find(header.job);
  if (found == parties_.end()) return;
  const std::optional<Way> way = core::travels_down(header.kind)
                                     ? way_down(found->second, index, from)
                                     : way_up(found->second, index, header, from);
  if (way) find(header.job)->take(now, *way, arrival.datagram);
}

// Identifies a rank by the host that its connection to the switch vouches for and by its
// worker number. The number is the rank, because every rank is directly below a site at a rank.
std::optional<Way> RankServer::way_up(Parties& parties, std::size_t index,
                                      const core::Header& header, const io::SocketAddress& from) {
  if (parties.ranks.empty() || header.worker >= real_) return std::nullopt;
  const io::SocketAddress& source = parties.sources[header.worker];
  if (source.is_set() && !source.is_same_host(from)) return std::nullopt;
  Address& known = parties.ranks[index][header.worker];
  if (!(known[0] == from)) {
    socket(index).flush();  // trains refer to the addresses that they are for
    known[0] = from;
  }
  return Way{header.worker, static_cast<std::uint8_t>(parties.real_sites.size() + index), false};
}

// A packet must come from one of the job's sites, because only they know the ports of its ranks.
std::optional<Way> RankServer::way_down(const Parties& parties, std::size_t index,
                                        const io::SocketAddress& from) const {
  const auto site = std::find_if(parties.real_sites.begin(), parties.real_sites.end(),
                                 [&](const Address& each) { return each[0] == from; });
  if (site == parties.real_sites.end()) return std::nullopt;
  return Way{static_cast<std::uint16_t>(real_ + index),
             static_cast<std::uint8_t>(site - parties.real_sites.begin()), true};
}

}  // namespace infold::emulate
