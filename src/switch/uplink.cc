// SPDX-License-Identifier: Apache-2.0
#include "switch/uplink.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/address/route.h"
#include "io/host/entropy.h"
#include "io/udp/path_probe.h"
#include "io/udp/udp_socket.h"
#include "join/refusals.h"

namespace infold::switches {
namespace sentences = join::sentences;

base::Result<std::unique_ptr<UdpUplink>> UdpUplink::find(const io::SocketAddress& parent,
                                                         const io::SocketAddress& listen,
                                                         const io::SocketAddress& join_address) {
  const base::Result<io::Route> route = io::route_to(parent);
  if (!route) return base::fail(base::Code::unavailable, "parent", "cannot be reached: no route");
  io::SocketAddress own = join_address.is_any() ? route->local : join_address;
  own.set_port(join_address.port());
  if (own == parent) {
    return base::fail(base::Code::invalid_argument, "parent",
                      "is the address of this switch itself; name the switch above it");
  }
  io::SocketAddress from = listen.is_any() ? route->local : listen;
  from.set_port(0);
  return std::unique_ptr<UdpUplink>(new UdpUplink(parent, from, own));
}

join::RackRelayOptions UdpUplink::relay_options(const keys::JoinString& keys) const {
  // If packets leave from the same address as the join connection, it need not be sent, because the
  // parent sees it. Behind a NAT, only the parent knows that address.
  const base::Result<io::Route> route = io::route_to(parent_);
  const bool is_elsewhere = route && !from_.is_same_host(route->local);
  join::RackRelayOptions options;
  options.parent = parent_;
  options.address = join_address_.text();
  options.identity = fmt::format("{:016x}{:016x}", io::fresh_number(), io::fresh_number());
  if (is_elsewhere) options.source = from_;
  options.token = keys.token;
  options.parent_fingerprint = keys.fingerprint;
  return options;
}

join::Answer<std::uint32_t> UdpUplink::datagram_bytes_max() const {
  const base::Result<io::Route> route = io::route_to(parent_);
  if (!route) {
    return join::refused(sentences::kNoRouteToParent, join_address_.text(), parent_.text());
  }
  return static_cast<std::uint32_t>(std::max(route->mtu_bytes - io::header_bytes(parent_), 0));
}

join::Answer<void> UdpUplink::reach(const std::vector<std::string>& sites,
                                    std::uint32_t datagram_bytes) {
  io::UdpOptions udp;
  udp.bind = from_;
  udp.datagram_bytes_max = datagram_bytes;
  base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
  if (!socket) {
    return join::refused(sentences::kCannotProbe, join_address_.text(), socket.error().detail);
  }
  for (const std::string& text : sites) {
    const auto site = io::SocketAddress::parse(text, "a site");
    if (!site) return join::refused(sentences::kSiteOfParent, text, site.error().detail);
    const io::PathReport report = io::probe_path(*socket, *site, datagram_bytes, io::kProbeMax);
    if (report.carries) continue;
    if (!report.answers) {
      return join::refused(sentences::kNoUdpFromSite, text, join_address_.text());
    }
    return join::refused(sentences::kNarrowPath,
                         datagram_bytes + static_cast<std::uint32_t>(io::header_bytes(*site)), text,
                         join_address_.text());
  }
  return {};
}

join::Answer<std::vector<io::SocketAddress>> sites_of_parent(const join::BelowParent& below) {
  std::vector<io::SocketAddress> sites;
  for (const std::string& text : below.sites) {
    const auto site = io::SocketAddress::parse(text, "a site");
    if (!site) return join::refused(sentences::kSiteOfParent, text, site.error().detail);
    sites.push_back(*site);
  }
  return sites;
}

}  // namespace infold::switches
