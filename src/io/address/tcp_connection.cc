// SPDX-License-Identifier: Apache-2.0
#include "io/address/tcp_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <linux/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/host/clock.h"
#include "io/host/patience.h"

namespace infold::io {
namespace {

using base::Code;

// The first attempts follow each other within milliseconds, because hosts often start at the same
// time. Later attempts come twenty times a second.
constexpr base::Duration kPauseMin = base::milliseconds(1);
constexpr base::Duration kPauseEarly = base::milliseconds(5);
constexpr base::Duration kEarly = base::milliseconds(250);
constexpr base::Duration kPauseMax = base::milliseconds(50);

FileDescriptor open_socket(const SocketAddress& there) {
  FileDescriptor fd(socket(there.data()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// Waits until one attempt has succeeded or failed, or until `stop` is requested.
bool is_connected(int fd, int stop, base::Instant deadline) {
  std::array<pollfd, 2> polled = {{{fd, POLLOUT, 0}, {stop, POLLIN, 0}}};
  const int count = poll(polled.data(), polled.size(), milliseconds_until(deadline));
  return count > 0 && polled[0].revents != 0 && has_connected(fd);
}

}  // namespace

FileDescriptor start_to_connect(const SocketAddress& there) {
  FileDescriptor fd = open_socket(there);
  if (!fd.is_open() || connect(fd.get(), there.data(), there.bytes()) == 0) return fd;
  return errno == EINPROGRESS ? std::move(fd) : FileDescriptor();
}

bool has_connected(int socket) {
  int reason = 0;
  socklen_t bytes = sizeof(reason);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &bytes) == 0 && reason == 0;
}

base::Result<FileDescriptor> connect_tcp(const SocketAddress& there, base::Instant deadline,
                                         const std::stop_token& stop) {
  const FileDescriptor wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.is_open()) {
    return base::fail(Code::resource_exhausted, "connect", "no descriptor is left", errno);
  }
  const std::stop_callback on_stop(stop, [&wake] { eventfd_write(wake.get(), 1); });
  const base::Instant late = monotonic_now() + kEarly;
  for (base::Duration pause = kPauseMin;; pause = pause * 2) {
    FileDescriptor fd = open_socket(there);
    if (!fd.is_open()) {
      return base::fail(Code::resource_exhausted, "connect", "cannot open a socket", errno);
    }
    const int status = connect(fd.get(), there.data(), there.bytes());
    if (status == 0) return fd;
    if (errno == EINPROGRESS && is_connected(fd.get(), wake.get(), deadline)) return fd;
    if (stop.stop_requested()) return base::fail(Code::cancelled, "connect", "was given up");
    const base::Instant now = monotonic_now();
    if (now >= deadline) {
      return base::fail(Code::deadline_exceeded, "connect", "nobody answered in time");
    }
    pause = std::min(pause, now < late ? kPauseEarly : kPauseMax);
    pollfd pausing = {wake.get(), POLLIN, 0};
    poll(&pausing, 1, milliseconds_until(std::min(now + pause, deadline)));
  }
}

SocketAddress local_address_of(int connected_socket) {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof(address);
  if (getsockname(connected_socket, reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&address), bytes};
}

}  // namespace infold::io
