// SPDX-License-Identifier: Apache-2.0
//
// A claim is a listening socket in the abstract namespace. A process that connects learns the
// listener's process from the kernel.
#include "planes/xdp/attach/claim.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace infold::xdp {
namespace {

int open_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

socklen_t name_socket(const Interface& interface, sockaddr_un& address) {
  const std::string name = "infold-switch-at-" + std::to_string(interface.index);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(),
              name.size());  // after a zero byte: the abstract namespace
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// The listener's process, or 0 if it has just ended or this process cannot see it.
pid_t holder_of(const sockaddr_un& address, socklen_t bytes) {
  const int asking = open_socket();
  ucred holder{};
  socklen_t size = sizeof(holder);
  if (connect(asking, reinterpret_cast<const sockaddr*>(&address), bytes) == 0) {
    getsockopt(asking, SOL_SOCKET, SO_PEERCRED, &holder, &size);
  }
  close(asking);
  return holder.pid;
}

}  // namespace

base::Attempt<Claim> Claim::take(const Interface& interface) {
  sockaddr_un address{};
  const socklen_t bytes = name_socket(interface, address);
  const int socket = open_socket();
  if (socket < 0) return base::cannot("no more files can be opened");
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 &&
      listen(socket, 1) == 0) {
    return Claim(socket);
  }
  close(socket);
  const pid_t holder = holder_of(address, bytes);
  return base::cannot(interface.name + " has an infold switch already" +
                      (holder > 0 ? ": process " + std::to_string(holder) : std::string()));
}

Claim::~Claim() {
  if (socket_ >= 0) close(socket_);
}

}  // namespace infold::xdp
