// SPDX-License-Identifier: Apache-2.0
//
// Converts text to addresses and back.
#include "io/address/socket_address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <utility>

namespace infold::io {
namespace {

using base::Code;

struct Freed {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

struct HostAndPort {
  std::string host;  // without brackets
  std::string port;
};

base::Result<HostAndPort> split(std::string_view text, const char* what) {
  if (text.find("://") != std::string_view::npos) {
    return base::fail(Code::invalid_argument, what, "is a URL; write HOST:PORT without the scheme");
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return base::fail(Code::invalid_argument, what, "has no port; write HOST:PORT");
  }
  std::string host(text.substr(0, colon));
  std::string port(text.substr(colon + 1));
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(port) > 65535) {
    return base::fail(Code::out_of_range, what, "has a port outside 0 to 65535");
  }
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    return base::fail(Code::invalid_argument, what,
                      "is an IPv6 address without brackets; write [ADDRESS]:PORT");
  }
  return HostAndPort{std::move(host), std::move(port)};
}

}  // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t bytes) {
  const auto room = static_cast<socklen_t>(sizeof(storage_));
  if (address->sa_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
      storage_.v4 = {};
      storage_.v4.sin_family = AF_INET;
      storage_.v4.sin_port = v6.sin6_port;
      std::memcpy(&storage_.v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(in_addr));
      return;
    }
  }
  std::memcpy(&storage_, address, std::min(bytes, room));
}

base::Result<SocketAddress> SocketAddress::parse(std::string_view text, const char* what) {
  return find(text, what, 0);
}

base::Result<SocketAddress> SocketAddress::parse_number(std::string_view text, const char* what) {
  return find(text, what, AI_NUMERICHOST);
}

base::Result<SocketAddress> SocketAddress::parse_host(std::string_view text, const char* what) {
  const std::string host(text);
  if (host.empty()) return base::fail(Code::invalid_argument, what, "is not a numeric address");
  return parse_number(host.find(':') == std::string::npos ? host + ":0" : "[" + host + "]:0", what);
}

base::Result<void> SocketAddress::check_form(std::string_view text, const char* what) {
  if (const auto parts = split(text, what); !parts) return tl::unexpected(parts.error());
  return {};
}

base::Result<SocketAddress> SocketAddress::find(std::string_view text, const char* what,
                                                int flags) {
  const auto parts = split(text, what);
  if (!parts) return tl::unexpected(parts.error());
  const auto& [host, port] = *parts;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = flags | (host.empty() ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int status =
      getaddrinfo(host.empty() ? "0.0.0.0" : host.c_str(), port.c_str(), &hints, &found);
  const std::unique_ptr<addrinfo, Freed> list(found);
  if (status != 0 && flags == AI_NUMERICHOST) {
    return base::fail(Code::invalid_argument, what, "is not a numeric address");
  }
  if (status != 0) return base::fail(Code::unavailable, what, "names a host that cannot be found");
  return SocketAddress(list->ai_addr, list->ai_addrlen);
}

bool SocketAddress::is_any() const {
  return is_ipv6() ? IN6_IS_ADDR_UNSPECIFIED(&storage_.v6.sin6_addr)
                   : storage_.v4.sin_addr.s_addr == INADDR_ANY;
}

bool SocketAddress::is_multicast() const {
  if (is_ipv6()) return IN6_IS_ADDR_MULTICAST(&storage_.v6.sin6_addr);
  const std::uint32_t address = ntohl(storage_.v4.sin_addr.s_addr);
  return IN_MULTICAST(address) || address == INADDR_BROADCAST;
}

bool SocketAddress::is_loopback() const {
  constexpr std::uint32_t kNet = 127;
  if (!is_ipv6()) return ntohl(storage_.v4.sin_addr.s_addr) >> 24 == kNet;
  const in6_addr& address = storage_.v6.sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == kNet);
}

std::uint16_t SocketAddress::port() const {
  return ntohs(is_ipv6() ? storage_.v6.sin6_port : storage_.v4.sin_port);
}

void SocketAddress::set_port(std::uint16_t port) {
  (is_ipv6() ? storage_.v6.sin6_port : storage_.v4.sin_port) = htons(port);
}

std::string SocketAddress::host_text() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_ipv6()) {
    inet_ntop(AF_INET6, &storage_.v6.sin6_addr, text, sizeof(text));
  } else {
    inet_ntop(AF_INET, &storage_.v4.sin_addr, text, sizeof(text));
  }
  if (is_link_local() && storage_.v6.sin6_scope_id != 0) {
    char name[IF_NAMESIZE];
    const bool has_name = if_indextoname(storage_.v6.sin6_scope_id, name) != nullptr;
    return std::string(text) + "%" + (has_name ? name : std::to_string(storage_.v6.sin6_scope_id));
  }
  return text;
}

bool SocketAddress::is_link_local() const {
  return is_ipv6() && IN6_IS_ADDR_LINKLOCAL(&storage_.v6.sin6_addr);
}

std::string SocketAddress::text_elsewhere() const {
  SocketAddress address = *this;
  if (is_link_local()) address.storage_.v6.sin6_scope_id = 0;
  return address.text();
}

std::string SocketAddress::host_text_elsewhere() const {
  SocketAddress address = *this;
  if (is_link_local()) address.storage_.v6.sin6_scope_id = 0;
  return address.host_text();
}

bool SocketAddress::is_same_host(const SocketAddress& other) const {
  if (!is_set() || storage_.generic.sa_family != other.storage_.generic.sa_family) return false;
  if (!is_ipv6()) return storage_.v4.sin_addr.s_addr == other.storage_.v4.sin_addr.s_addr;
  const std::uint32_t link = storage_.v6.sin6_scope_id;
  const std::uint32_t other_link = other.storage_.v6.sin6_scope_id;
  return (link == 0 || other_link == 0 || link == other_link) &&
         IN6_ARE_ADDR_EQUAL(&storage_.v6.sin6_addr, &other.storage_.v6.sin6_addr);
}

void SocketAddress::take_link(const SocketAddress& there) {
  if (!is_link_local() || !there.is_link_local()) return;
  storage_.v6.sin6_scope_id = there.storage_.v6.sin6_scope_id;
}

std::string SocketAddress::text() const {
  const std::string host = host_text();
  return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port());
}

bool operator==(const SocketAddress& a, const SocketAddress& b) {
  if (!a.is_set() || a.storage_.generic.sa_family != b.storage_.generic.sa_family) return false;
  if (!a.is_ipv6()) {
    return a.storage_.v4.sin_port == b.storage_.v4.sin_port &&
           a.storage_.v4.sin_addr.s_addr == b.storage_.v4.sin_addr.s_addr;
  }
  return a.storage_.v6.sin6_port == b.storage_.v6.sin6_port &&
         a.storage_.v6.sin6_scope_id == b.storage_.v6.sin6_scope_id &&
         IN6_ARE_ADDR_EQUAL(&a.storage_.v6.sin6_addr, &b.storage_.v6.sin6_addr);
}

}  // namespace infold::io
