// SPDX-License-Identifier: Apache-2.0
#include "io/address/listen.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

namespace infold::io {
const char* bind_problem(int reason) {
  switch (reason) {
    case EADDRINUSE: return "the address is in use";
    case EADDRNOTAVAIL: return "this host has no such address";
    case EACCES: return "ports below 1024 need root or CAP_NET_BIND_SERVICE; choose a higher port";
    default: return "cannot use the address";
  }
}

base::Result<FileDescriptor> listen_at(const SocketAddress& address, const char* where,
                                       int backlog) {
  FileDescriptor file(
      socket(address.data()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!file.is_open()) {
    return base::fail(base::Code::resource_exhausted, where, "cannot open a TCP socket", errno);
  }
  // Connections of an earlier process stay in TIME_WAIT for a minute. They must not keep this
  // process from using the address.
  const int yes = 1;
  setsockopt(file.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const int no = 0;
  if (address.is_ipv6()) setsockopt(file.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
  if (bind(file.get(), address.data(), address.bytes()) != 0 || listen(file.get(), backlog) != 0) {
    return base::fail(base::Code::unavailable, where, bind_problem(errno), errno);
  }
  return file;
}

}  // namespace infold::io
