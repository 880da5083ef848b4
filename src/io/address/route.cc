// SPDX-License-Identifier: Apache-2.0
//
// Asks the kernel for the route that it would choose, and tries the other interfaces with TCP
// handshakes.
#include "io/address/route.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "io/host/clock.h"

namespace infold::io {
namespace {

using base::Code;

constexpr base::Duration kAnswerMax = base::milliseconds(200);
// The round trip is the shortest of this many handshakes, because the first one may have to wait
// for ARP.
constexpr int kHandshakes = 3;

struct FreeList {
  void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

int speed_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int speed = 0;
  return file >> speed && speed > 0 ? speed : 0;
}

socklen_t bytes_of(int family) {
  return family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// Returns each local address of the family whose interface is up, with that interface.
std::vector<Route> local_addresses(int family) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeList> list(all);
  std::vector<Route> found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    Route route;
    route.interface = each->ifa_name;
    route.local = SocketAddress(each->ifa_addr, bytes_of(family));
    route.local.set_port(0);
    found.push_back(route);
  }
  return found;
}

bool is_link_local(const SocketAddress& address) {
  return address.is_ipv6() && address.host_text().starts_with("fe80");
}

class Handshake {
 public:
  Handshake(const Route& from, const SocketAddress& there)
      : fd_(socket(there.data()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const std::string& name = from.interface;
    setsockopt(fd_, SOL_SOCKET, SO_BINDTODEVICE, name.c_str(), static_cast<socklen_t>(name.size()));
    started_ = monotonic_now();
    const bool bound = bind(fd_, from.local.data(), from.local.bytes()) == 0;
    if (!bound || (connect(fd_, there.data(), there.bytes()) != 0 && errno != EINPROGRESS)) {
      is_over_ = true;
      is_answered_ = errno == ECONNREFUSED;
    }
  }
  ~Handshake() {
    if (fd_ >= 0) close(fd_);
  }
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  int fd() const { return is_over_ ? -1 : fd_; }
  void finish() {
    int reason = 0;
    socklen_t bytes = sizeof(reason);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &reason, &bytes);
    is_over_ = true;
    is_answered_ = reason == 0 || reason == ECONNREFUSED;
    took_ = monotonic_now() - started_;
  }
  bool is_answered() const { return is_answered_; }
  base::Duration took() const { return took_; }

 private:
  int fd_;
  base::Instant started_;
  base::Duration took_;
  bool is_over_ = false;
  bool is_answered_ = false;
};

// Starts one handshake from each address at the same time. Drops the routes that get no answer,
// except the kernel's own route.
void measure(std::vector<Route>& routes, const SocketAddress& there) {
  std::vector<std::unique_ptr<Handshake>> handshakes;
  for (const Route& route : routes) {
    handshakes.push_back(std::make_unique<Handshake>(route, there));
  }
  const base::Instant end = monotonic_now() + kAnswerMax;
  std::vector<pollfd> polled(routes.size());
  for (;;) {
    bool waits = false;
    for (std::size_t i = 0; i < routes.size(); ++i) {
      polled[i] = {handshakes[i]->fd(), POLLOUT, 0};
      waits = waits || polled[i].fd >= 0;
    }
    const std::int64_t left = (end - monotonic_now()).ns;
    if (!waits || left <= 0) break;
    poll(polled.data(), polled.size(), static_cast<int>(left / 1'000'000 + 1));
    for (std::size_t i = 0; i < routes.size(); ++i) {
      if (polled[i].revents != 0) handshakes[i]->finish();
    }
  }
  std::vector<Route> answered;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    Route& route = routes[i];
    if (handshakes[i]->is_answered()) {
      const base::Duration took = handshakes[i]->took();
      route.round_trip = route.round_trip.ns == 0 ? took : std::min(route.round_trip, took);
    }
    if (handshakes[i]->is_answered() || route.is_own) answered.push_back(route);
  }
  routes = std::move(answered);
}

int mtu_of(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/mtu");
  int mtu = 0;
  return file >> mtu ? mtu : 0;
}

}  // namespace

// Connecting a datagram socket sends no packet, but it shows which route the kernel chooses.
base::Result<Route> route_to(const SocketAddress& there) {
  const int fd = socket(there.data()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return base::fail(Code::unavailable, "route", "cannot open a socket", errno);
  Route route;
  sockaddr_storage local = {};
  socklen_t local_bytes = sizeof(local);
  socklen_t mtu_bytes = sizeof(route.mtu_bytes);
  const bool found =
      connect(fd, there.data(), there.bytes()) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_bytes) == 0 &&
      getsockopt(fd, there.is_ipv6() ? IPPROTO_IPV6 : IPPROTO_IP,
                 there.is_ipv6() ? IPV6_MTU : IP_MTU, &route.mtu_bytes, &mtu_bytes) == 0;
  close(fd);
  if (!found) return base::fail(Code::unavailable, "route", "cannot be reached: no route");
  route.local = {reinterpret_cast<const sockaddr*>(&local), local_bytes};
  route.local.set_port(0);
  route.is_own = true;
  for (const Route& each : local_addresses(there.data()->sa_family)) {
    if (each.local == route.local) route.interface = each.interface;
  }
  route.speed_mbps = speed_of(route.interface);
  return route;
}

base::Result<std::vector<Route>> routes_to(const SocketAddress& there) {
  base::Result<Route> own = route_to(there);
  if (!own) return tl::unexpected(own.error());
  std::vector<Route> routes = {*own};
  SocketAddress host = there;
  host.set_port(0);
  const bool is_here = host == own->local;  // the target is on this host
  if (is_here || own->interface.empty() || own->interface == "lo") return routes;
  for (Route& other : local_addresses(there.data()->sa_family)) {
    const bool is_known = std::any_of(routes.begin(), routes.end(), [&](const Route& route) {
      return route.interface == other.interface;
    });
    if (is_known || other.interface == "lo" || is_link_local(other.local)) continue;
    other.speed_mbps = speed_of(other.interface);
    other.mtu_bytes = mtu_of(other.interface);
    routes.push_back(other);
  }
  for (int i = 0; i < kHandshakes && routes.size() > 1; ++i) measure(routes, there);
  return routes;
}

const Route& best_route(const std::vector<Route>& routes) {
  const Route* best = &routes.front();
  for (const Route& route : routes) {
    const bool speeds_known = route.speed_mbps > 0 && best->speed_mbps > 0;
    const bool is_faster = speeds_known && route.speed_mbps > best->speed_mbps;
    const bool is_slower = speeds_known && route.speed_mbps < best->speed_mbps;
    const bool is_nearer = route.round_trip * 5 < best->round_trip * 4;
    if (is_faster || (!is_slower && is_nearer)) best = &route;
  }
  return *best;
}

int header_bytes(const SocketAddress& address) { return address.is_ipv6() ? 48 : 28; }

}  // namespace infold::io
