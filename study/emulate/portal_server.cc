// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/portal_server.h"

#include <algorithm>
#include <utility>

namespace infold::emulate {

namespace {

// Returns the address from the rank's hello, which has been checked. A link-local address gets its
// interface from `source`.
io::SocketAddress site_address(const join::JobTerms& terms, std::size_t site,
                               const io::SocketAddress& source) {
  auto address = io::SocketAddress::parse_number(terms.sites[site].address, "a site");
  if (!address) return {};
  address->take_link(source);
  return *address;
}

}  // namespace

Started<std::unique_ptr<PortalServer>> PortalServer::open(const EmulationOptions& options) {
  const JobShape& shape = options.shape;
  RealSwitches switches = switches_of(shape, options.real);
  const std::size_t sites = shape.weights.size();
  const std::size_t of_ranks = shape.ranks_sum ? options.ranks : 0;
  io::UdpOptions udp;
  udp.bind = options.listen;
  Started<Sockets> sockets = open_sockets(udp, switches.racks.size() * sites + of_ranks);
  if (!sockets) return tl::unexpected(sockets.error());
  return std::unique_ptr<PortalServer>(
      new PortalServer(std::move(switches), sites, std::move(*sockets)));
}

std::vector<io::SocketAddress> PortalServer::switch_addresses(std::uint32_t real_rank) const {
  std::vector<io::SocketAddress> addresses;
  for (std::size_t site = 0; site < sites_; ++site) {
    addresses.push_back(socket(socket_of(real_rank, site)).local_address());
  }
  return addresses;
}

std::vector<io::SocketAddress> PortalServer::rank_addresses() const {
  std::vector<io::SocketAddress> addresses;
  for (std::size_t index = switch_sockets_; index < socket_count(); ++index) {
    addresses.push_back(socket(index).local_address());
  }
  return addresses;
}

void PortalServer::add(std::unique_ptr<EmulatedJob> job, const join::JobTerms& terms) {
  const std::vector<plan::Tree>& trees = job->scenario().plan.trees;
  Ranks ranks;
  ranks.sources = terms.rank_sources;
  ranks.sources.resize(terms.world);
  ranks.addresses.assign(switches_.of_rank.size(), std::vector<Address>(trees.size()));
  ranks.numbers.resize(socket_count());
  const auto world = static_cast<std::uint16_t>(switches_.of_rank.size());
  for (std::uint16_t rank = 0; rank < world; ++rank) {
    for (std::size_t site = 0; site < trees.size(); ++site) {
      if (trees[site].aggregators.front().rank == rank) {
        ranks.own_sites.push_back({site_address(terms, site, ranks.sources[rank])});
        continue;
      }
      const plan::Position place = plan::position_of(trees[site], rank);
      ranks.numbers[socket_of(rank, site)][place.worker] = rank;
    }
  }
  ranks_[terms.job] = std::move(ranks);
  PacedServer::add(terms.job, std::move(job));
}

EmulatedJob::Deliver PortalServer::deliver_to(std::uint16_t number) {
  return [this, number](Way way, std::span<const std::byte> bytes) { deliver(number, way, bytes); };
}

void PortalServer::deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram) {
  const auto found = ranks_.find(number);
  if (found == ranks_.end()) return;
  const Ranks& ranks = found->second;
  if (!way.is_down) {  // only the site of a rank can be real
    const Address& to = ranks.own_sites[way.site - sites_];
    if (to[0].is_set()) socket(switch_sockets_ + way.rank).send(to, datagram);
    return;
  }
  const Address& to = ranks.addresses[way.rank][way.site];
  if (to[0].is_set()) socket(socket_of(way.rank, way.site)).send(to, datagram);
}

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
  if (found == ranks_.end()) return;
  const std::optional<Way> way = core::travels_down(header.kind)
                                     ? way_down(found->second, index, from)
                                     : way_up(found->second, index, header, from);
  if (way) find(header.job)->take(now, *way, arrival.datagram);
}

// Identifies a rank by the site that it sends to, by the host that its connection vouches for
// and by its number.
std::optional<Way> PortalServer::way_up(Ranks& ranks, std::size_t index, const core::Header& header,
                                        const io::SocketAddress& from) {
  const auto rank = ranks.numbers[index].find(header.worker);
  if (rank == ranks.numbers[index].end()) return std::nullopt;
  const io::SocketAddress& source = ranks.sources[rank->second];
  if (source.is_set() && !source.is_same_host(from)) return std::nullopt;
  const std::uint8_t site = site_of(index);
  Address& known = ranks.addresses[rank->second][site];
  if (!(known[0] == from)) {
    socket(index).flush();  // trains refer to the addresses that they are for
    known[0] = from;
  }
  return Way{rank->second, site, false};
}

// Identifies a real rank's site by its address. The socket belongs to the worker that the site
// answers.
std::optional<Way> PortalServer::way_down(const Ranks& ranks, std::size_t index,
                                          const io::SocketAddress& from) const {
  if (index < switch_sockets_) return std::nullopt;
  const auto site = std::find_if(ranks.own_sites.begin(), ranks.own_sites.end(),
                                 [&](const Address& each) { return each[0] == from; });
  if (site == ranks.own_sites.end()) return std::nullopt;
  const auto rank = static_cast<std::uint16_t>(index - switch_sockets_);
  const auto place = static_cast<std::size_t>(site - ranks.own_sites.begin());
  return Way{rank, static_cast<std::uint8_t>(sites_ + place), true};
}

}  // namespace infold::emulate
