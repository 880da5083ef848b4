// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/packet_route.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "io/address/name_lookup.h"
#include "io/udp/path_probe.h"
#include "rank/session/join_error.h"

namespace infold::rank {
namespace {

// The largest MTU that JoinOptions accepts. Loopback has a larger one.
constexpr int kMtuMax = 9216;

Result<io::Route> route_from(const std::string& local, const std::string& name,
                             const io::SocketAddress& host) {
  auto route = io::route_to(host);
  if (!route) return tl::unexpected(unavailable(name, route.error()));
  const bool is_ipv6 = local.find(':') != std::string::npos;
  const auto given =
      io::SocketAddress::parse((is_ipv6 ? "[" + local + "]" : local) + ":0", "the address");
  if (!given) {
    return tl::unexpected(unavailable("JoinOptions.address: '" + local +
                                      "' is not an address of this host; write one without a port, "
                                      "such as 10.0.0.2"));
  }
  if (!(route->local == *given)) route->interface.clear();
  route->local = *given;
  return std::move(*route);
}

}  // namespace

Result<io::SocketAddress> look_up_host(const std::string& name, base::Instant deadline,
                                       const std::stop_token& stop) {
  const auto found = io::look_up(name, "the address", deadline, stop);
  if (found) return *found;
  Error error = unavailable(name, found.error());
  if (found.error().code == base::Code::cancelled) error.code = Code::cancelled;
  if (found.error().code == base::Code::deadline_exceeded) error.code = Code::deadline_exceeded;
  return tl::unexpected(std::move(error));
}

Result<PacketRoute> PacketRoute::choose(const JoinOptions& options, const std::string& name,
                                        const io::SocketAddress& host) {
  PacketRoute way;
  if (options.address.empty()) {
    const auto routes = io::routes_to(host);
    if (!routes) return tl::unexpected(unavailable(name, routes.error()));
    way.route = io::best_route(*routes);
  } else {
    Result<io::Route> route = route_from(options.address, name, host);
    if (!route) return tl::unexpected(std::move(route.error()));
    way.route = std::move(*route);
  }
  const int mtu =
      options.mtu_bytes != 0 ? options.mtu_bytes : std::min(way.route.mtu_bytes, kMtuMax);
  way.datagram_bytes_max = static_cast<std::uint32_t>(mtu - io::header_bytes(way.route.local));
  return way;
}

io::UdpOptions PacketRoute::udp_options() const {
  io::UdpOptions udp;
  udp.bind = route.local;
  if (!route.is_own) udp.device = route.interface;
  udp.datagram_bytes_max = datagram_bytes_max;
  return udp;
}

std::string PacketRoute::text() const {
  const std::string host = route.local.host_text();
  return route.interface.empty() ? host : host + " (" + route.interface + ")";
}

Result<void> probe_sites(const PacketRoute& route, io::UdpSocket& socket,
                         std::span<const io::SocketAddress> sites, std::size_t datagram_bytes,
                         base::Duration limit) {
  const std::vector<io::PathReport> reports =
      io::probe_paths(socket, sites, datagram_bytes, std::min(limit, io::kProbeMax));
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::string site = sites[i].text();
    if (reports[i].carries) continue;
    if (!reports[i].answers) {
      return tl::unexpected(unavailable("nothing comes back over UDP from " + site +
                                        ", though its job could be joined; " +
                                        "does a firewall between this host (" +
                                        route.route.local.host_text() + ") and it drop UDP?"));
    }
    const std::size_t mtu = datagram_bytes + static_cast<std::size_t>(io::header_bytes(sites[i]));
    return tl::unexpected(unavailable(
        "packets of " + std::to_string(mtu) + " bytes do not come back from " + site +
        ", smaller ones do: the path carries less than its ends say; choose a smaller MTU"));
  }
  return {};
}

}  // namespace infold::rank
