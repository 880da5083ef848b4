// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 or IPv6 address with a port, as a value. An IPv4 address that is mapped to IPv6 becomes
// plain IPv4, so it compares equal to it.
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "base/result.h"

namespace infold::io {

class SocketAddress {
 public:
  // An unset address, which equals no address.
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t bytes);

  // Reads "10.0.0.1:7700", "[fd00::1]:7700", "host:7700" and ":7700" (any address). Looks up names,
  // which may take long. `what` is static text that names the option in an error.
  static base::Result<SocketAddress> parse(std::string_view text, const char* what);
  // Reads numeric addresses only, so it never waits. Use it for text from another host.
  static base::Result<SocketAddress> parse_number(std::string_view text, const char* what);
  // Finds what parse() would refuse without a look-up: a text that is not HOST:PORT.
  static base::Result<void> check_form(std::string_view text, const char* what);
  // Reads a numeric address without port and brackets, as host_text() writes it, and sets the port
  // to 0.
  static base::Result<SocketAddress> parse_host(std::string_view text, const char* what);

  bool is_set() const { return storage_.generic.sa_family != AF_UNSPEC; }
  bool is_any() const;
  bool is_multicast() const;  // also true for IPv4's broadcast address
  bool is_loopback() const;   // no other host can reach it
  bool is_ipv6() const { return storage_.generic.sa_family == AF_INET6; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  std::string host_text() const;  // without brackets
  std::string text() const;       // as parse() reads it; a link-local address names its interface
  // Whether the addresses are equal apart from their ports. Interfaces are compared only if both
  // addresses name one.
  bool is_same_host(const SocketAddress& other) const;
  // The text for other hosts, without the interface, which may have another name there.
  std::string text_elsewhere() const;
  std::string host_text_elsewhere() const;  // the same without the port
  // Adopts the interface of `there` if both addresses are link-local. Use it for an address that
  // another host sent, which names no interface.
  void take_link(const SocketAddress& there);

  const sockaddr* data() const { return &storage_.generic; }
  socklen_t bytes() const { return is_ipv6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }

  friend bool operator==(const SocketAddress& a, const SocketAddress& b);

 private:
  bool is_link_local() const;
  static base::Result<SocketAddress> find(std::string_view text, const char* what, int flags);

  union Storage {
    sockaddr generic;
    sockaddr_in v4;
    sockaddr_in6 v6;
  };
  Storage storage_ = {.generic = {.sa_family = AF_UNSPEC, .sa_data = {}}};
};

}  // namespace infold::io
