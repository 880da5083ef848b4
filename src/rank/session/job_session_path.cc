// SPDX-License-Identifier: Apache-2.0
//
// What joining has to do with the way of packets: where the job's hosts are, the interface that
// leads there, the sockets, and whether packets of full size pass.
#include <algorithm>
#include <utility>

#include "io/address/name_lookup.h"
#include "io/host/clock.h"
#include "io/udp/path_probe.h"
#include "rank/session/job_session.h"

namespace infold::rank {
namespace {

constexpr int kMtuMost = 9216;
// Fifty tries: a path that loses a third of all packets passes.
constexpr base::Duration kProbeMax = base::seconds(1);

Error unavailable(std::string message) {
  return {Code::unavailable, "join: " + std::move(message), -1, ""};
}

Error error_of(const base::Error& error, const std::string& subject) {
  return unavailable(subject + " " + error.detail);
}

int header_bytes(const io::SocketAddress& address) { return address.is_ipv6() ? 48 : 28; }

}  // namespace

// Names are looked up once, so that all that follows is at the same hosts.
Result<void> JobSession::find_hosts() {
  for (const std::string& name : host_names()) {
    const auto found = io::look_up(name, "the address", deadline_, joining_.get_token());
    if (found) {
      hosts_.push_back(*found);
      continue;
    }
    Error error = error_of(found.error(), name);
    if (found.error().code == base::Code::cancelled) error.code = Code::cancelled;
    if (found.error().code == base::Code::deadline_exceeded) error.code = Code::deadline_exceeded;
    return tl::unexpected(std::move(error));
  }
  return {};
}

// The interface that an address was given for, else the best that reaches the first host.
Result<void> JobSession::choose_route() {
  const std::string first = host_names().front();
  const std::optional<io::SocketAddress> there = hosts_.front();
  if (options_.address.empty()) {
    const auto routes = io::routes_to(*there);
    if (!routes) return tl::unexpected(error_of(routes.error(), first));
    route_ = io::best_route(*routes);
    return {};
  }
  const auto route = io::route_to(*there);
  if (!route) return tl::unexpected(error_of(route.error(), first));
  const bool is_ipv6 = options_.address.find(':') != std::string::npos;
  const auto given = io::SocketAddress::parse(
      (is_ipv6 ? "[" + options_.address + "]" : options_.address) + ":0", "the address");
  if (!given) return tl::unexpected(error_of(given.error(), options_.address));
  route_ = *route;
  if (!(route_.local == *given)) route_.interface.clear();
  route_.local = *given;
  return {};
}

Result<void> JobSession::open_sockets() {
  if (Result<void> chosen = choose_route(); !chosen) return chosen;
  const int mtu =
      options_.mtu_bytes != 0 ? options_.mtu_bytes : std::min(route_.mtu_bytes, kMtuMost);
  datagram_bytes_max_ = static_cast<std::uint32_t>(mtu - header_bytes(route_.local));

  io::UdpOptions udp;
  udp.bind = route_.local;
  if (!route_.is_own) udp.device = route_.interface;
  udp.datagram_bytes_max = datagram_bytes_max_;
  udp.offload = options_.offload;
  udp.keeps_blocked = true;
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(error_of(socket.error(), route_.local.host_text()));
  socket_ = std::make_unique<io::UdpSocket>(std::move(*socket));
  if (!sums_itself()) return {};
  udp.keeps_blocked = false;
  udp.send_buffer_bytes = 16 << 20;
  auto site = io::UdpSocket::open(udp);
  if (!site) return tl::unexpected(error_of(site.error(), route_.local.host_text()));
  shard_ = std::make_unique<site::SwitchShard>(std::move(*site));
  return {};
}

// Whether packets of full size pass to each site and back, unless the job is to need no network.
Result<void> JobSession::probe_sites(std::size_t datagram_bytes) {
  if (is_one_host()) return {};
  const base::Duration left = deadline_ - io::monotonic_now();
  const base::Duration limit =
      std::min({base::Duration{options_.deadline.count() / 4}, kProbeMax, left});
  const std::vector<io::PathReport> reports =
      io::probe_paths(*socket_, table_.addresses, datagram_bytes, limit);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const io::SocketAddress& site = table_.addresses[i];
    if (reports[i].carries) continue;
    if (!reports[i].answers) {
      return tl::unexpected(unavailable(
          "nothing comes back over UDP from " + site.text() + ", though its job could be joined; " +
          "does a firewall between this host (" + route_.local.host_text() + ") and it drop UDP?"));
    }
    const std::size_t mtu = datagram_bytes + static_cast<std::size_t>(header_bytes(site));
    return tl::unexpected(unavailable(
        "packets of " + std::to_string(mtu) + " bytes do not come back from " + site.text() +
        ", smaller ones do: the path carries less than its ends say; choose a smaller MTU"));
  }
  return {};
}

}  // namespace infold::rank
