// SPDX-License-Identifier: Apache-2.0
//
// For tests that change a network: a namespace with a loopback of its own, for the calling thread
// and the threads that it starts.
#pragma once

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

// False without the privilege to.
inline bool enter_own_network(int mtu_bytes) {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {.ifr_ifrn = {"lo"}, .ifr_ifru = {}};
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return done && set_loopback_mtu(mtu_bytes);
}

}  // namespace infold::io
