// SPDX-License-Identifier: Apache-2.0
#include "emulate/portal_server.h"

#include <utility>

#include "core/packet/packet.h"

namespace infold::emulate {

base::Result<std::unique_ptr<PortalServer>> PortalServer::open(const EmulationOptions& options) {
  RealSwitches switches = switches_of(options.placement, options.real);
  const std::size_t sites = options.placement.weights.size();
  io::UdpOptions udp;
  udp.bind = options.listen;
  base::Result<Sockets> sockets = open_sockets(udp, switches.racks.size() * sites);
  if (!sockets) return tl::unexpected(sockets.error());
  return std::unique_ptr<PortalServer>(
      new PortalServer(std::move(switches), sites, std::move(*sockets)));
}

std::vector<io::SocketAddress> PortalServer::addresses_of(std::uint32_t real_rank) const {
  std::vector<io::SocketAddress> addresses;
  for (std::size_t site = 0; site < sites_; ++site) {
    addresses.push_back(socket(socket_of(real_rank, site)).local_address());
  }
  return addresses;
}

void PortalServer::add(std::unique_ptr<EmulatedJob> job, const control::JobTerms& terms) {
  Ranks ranks;
  ranks.sources = terms.rank_sources;
  ranks.sources.resize(terms.world);
  ranks.addresses.assign(switches_.of_rank.size(), std::vector<Address>(sites_));
  ranks.numbers.resize(socket_count());
  for (std::uint16_t rank = 0; rank < switches_.of_rank.size(); ++rank) {
    for (std::size_t site = 0; site < sites_; ++site) {
      const plan::Position place = plan::position_of(job->scenario().plan.trees[site], rank);
      ranks.numbers[socket_of(rank, site)][place.worker] = rank;
    }
  }
  ranks_[terms.job] = std::move(ranks);
  PacedServer::add(terms.job, std::move(job));
}

EmulatedJob::Deliver PortalServer::deliver_to(std::uint16_t number) {
  return [this, number](std::uint16_t rank, std::uint8_t site, std::span<const std::byte> bytes) {
    deliver(number, rank, site, bytes);
  };
}

void PortalServer::deliver(std::uint16_t number, std::uint16_t rank, std::uint8_t site,
                           std::span<const std::byte> datagram) {
  const auto ranks = ranks_.find(number);
  if (ranks == ranks_.end()) return;
  const Address& to = ranks->second.addresses[rank][site];
  if (to[0].is_set()) socket(socket_of(rank, site)).send(to, datagram);
}

// A rank is known by the switch that it sends to, by the host that its connection vouches for
// and by its number.
void PortalServer::take(base::Instant now, std::size_t index,
                        const io::UdpSocket::Arrival& arrival) {
  const io::SocketAddress& from = *arrival.from;
  if (io::is_probe(arrival.datagram)) {
    echo_.send(socket(index), from, arrival.datagram);
    return;
  }
  core::Packet packet;
  if (core::parse(arrival.datagram, packet) != core::Malformed::none) return;
  const core::Header& header = packet.header;
  const auto found = ranks_.find(header.job);
  if (found == ranks_.end() || core::travels_down(header.kind)) return;
  Ranks& ranks = found->second;
  const auto rank = ranks.numbers[index].find(header.worker);
  if (rank == ranks.numbers[index].end()) return;
  const io::SocketAddress& source = ranks.sources[rank->second];
  if (source.is_set() && !source.is_same_host(from)) return;
  const auto site = static_cast<std::uint8_t>(index % sites_);
  Address& known = ranks.addresses[rank->second][site];
  if (!(known[0] == from)) {
    socket(index).flush();  // trains refer to the addresses that they are for
    known[0] = from;
  }
  find(header.job)->take(now, rank->second, site, arrival.datagram);
}

}  // namespace infold::emulate
