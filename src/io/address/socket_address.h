// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 or IPv6 address with a port, as a value. An IPv4 address that arrived on an IPv6 socket
// equals the same one written as IPv4.
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
  // Any address of no family: equals no other address.
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t bytes);

  // "10.0.0.1:7700", "[fd00::1]:7700", "host:7700", ":7700" (any address). Looks names up.
  // `what` names the option in the error, which is static text.
  static base::Result<SocketAddress> parse(std::string_view text, const char* what);
  // The same without names, for what a peer says: never waits for anything.
  static base::Result<SocketAddress> parse_number(std::string_view text, const char* what);
  // A host alone, in numbers and without brackets, as host_text() writes it. The port is 0.
  static base::Result<SocketAddress> parse_host(std::string_view text, const char* what);

  bool is_set() const { return storage_.generic.sa_family != AF_UNSPEC; }
  bool is_any() const;
  bool is_multicast() const;  // or IPv4's broadcast
  bool is_ipv6() const { return storage_.generic.sa_family == AF_INET6; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  std::string host_text() const;  // without brackets
  std::string text() const;       // as parse() reads it, with the link of a link-local address
  // Whether the addresses are equal but for their ports. A link that only one of them names is not
  // compared.
  bool is_same_host(const SocketAddress& other) const;
  // For other hosts, on which the link has another name: without it.
  std::string text_elsewhere() const;
  std::string host_text_elsewhere() const;  // likewise
  // The other way: a link-local address that another host named is on the link of `there`.
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
