// SPDX-License-Identifier: Apache-2.0
//
// Gives tests that change the network a network namespace. The calling thread and the threads that
// it starts later get a loopback interface of their own.
#pragma once

#include <cstdint>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace infold::io {

inline bool set_loopback_mtu(int mtu_bytes) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
  request.ifr_mtu = mtu_bytes;
  const bool done = ioctl(fd, SIOCSIFMTU, &request) == 0;
  close(fd);
  return done;
}

// Returns false if the process lacks the privilege.
inline bool enter_own_network(int mtu_bytes) {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return done && set_loopback_mtu(mtu_bytes);
}

// Adds fe80::1 to lo. Waits until sockets can use it, which the kernel permits only a moment later.
inline bool add_link_local_address() {
  struct {
    in6_addr address;
    std::uint32_t prefix_bits;
    int interface;
  } request = {{}, 64, static_cast<int>(if_nametoindex("lo"))};
  request.address.s6_addr[0] = 0xFE;
  request.address.s6_addr[1] = 0x80;
  request.address.s6_addr[15] = 1;
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool added = ioctl(fd, SIOCSIFADDR, &request) == 0;
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = request.address;
  address.sin6_scope_id = static_cast<std::uint32_t>(request.interface);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  while (added && bind(fd, generic, sizeof(address)) != 0) usleep(1000);
  close(fd);
  return added;
}

}  // namespace infold::io
