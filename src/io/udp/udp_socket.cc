// SPDX-License-Identifier: Apache-2.0
//
// Owns the socket and its wake-up event. TrainSender and TrainReceiver do the sending and
// receiving.
#include "io/udp/udp_socket.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <utility>

#include "base/check.h"
#include "io/address/listen.h"
#include "io/host/clock.h"
#include "io/host/file_descriptor.h"
#include "io/udp/checksum_filter.h"
#include "io/udp/train_receiver.h"
#include "io/udp/train_sender.h"

namespace infold::io {
namespace {

using base::Code;

// The kernel may refuse any of these options. The socket works without them.
void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

// A privileged process may go beyond the limit for ordinary users.
void set_buffer(int fd, int forced, int plain, int bytes) {
  if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) != 0) {
    set_option(fd, SOL_SOCKET, plain, bytes);
  }
}

}  // namespace

struct UdpSocket::State {
  State(FileDescriptor socket, const UdpOptions& options)
      : fd(std::move(socket)),
        event(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        sender(fd.get(), options),
        receiver(fd.get(), options) {}

  FileDescriptor fd;
  FileDescriptor event;  // wake() writes to it
  TrainSender sender;
  TrainReceiver receiver;
};

base::Result<UdpSocket> UdpSocket::open(const UdpOptions& options) {
  CHECK(options.bind.is_set());
  FileDescriptor socket(::socket(options.bind.data()->sa_family,
                                 SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!socket.is_open()) {
    return base::fail(Code::unavailable, "socket", "cannot open a UDP socket", errno);
  }
  const int fd = socket.get();
  const bool is_ipv6 = options.bind.is_ipv6();
  // A datagram that does not fit the path must fail here rather than travel in fragments.
  set_option(fd, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
             IP_PMTUDISC_DO);
  drop_datagrams_without_checksum(fd);  // a kernel without filters refuses; all else still works
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
  const std::string& device = options.device;
  if (!device.empty() && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.c_str(),
                                    static_cast<socklen_t>(device.size())) != 0) {
    return base::fail(Code::unavailable, "device", "cannot send over that interface", errno);
  }
  if (bind(fd, options.bind.data(), options.bind.bytes()) != 0) {
    const int reason = errno;
    return base::fail(Code::unavailable, "bind", bind_problem(reason), reason);
  }
  auto state = std::make_unique<State>(std::move(socket), options);
  if (!state->event.is_open()) {
    return base::fail(Code::resource_exhausted, "socket", "out of files");
  }
  return UdpSocket(std::move(state));
}

UdpSocket::UdpSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
UdpSocket::UdpSocket(UdpSocket&& other) noexcept = default;
UdpSocket& UdpSocket::operator=(UdpSocket&& other) noexcept = default;
UdpSocket::~UdpSocket() = default;

std::span<std::byte> UdpSocket::place() { return state_->sender.place(); }
void UdpSocket::send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
                     std::span<const std::byte> payload) {
  state_->sender.send(to, datagram, payload);
}
void UdpSocket::flush() { state_->sender.flush(); }
bool UdpSocket::is_blocked() const { return state_->sender.is_blocked(); }
std::span<const UdpSocket::Arrival> UdpSocket::receive() { return state_->receiver.receive(); }

void UdpSocket::wait(base::Instant deadline) { wait_beside(deadline, -1); }

void UdpSocket::wait_beside(base::Instant deadline, int descriptor) {
  pollfd polled[3] = {
      {state_->fd.get(), POLLIN, 0}, {state_->event.get(), POLLIN, 0}, {descriptor, POLLIN, 0}};
  if (is_blocked()) polled[0].events |= POLLOUT;
  timespec timeout = {};
  timespec* until = nullptr;
  if (deadline != base::Instant::never()) {
    const std::int64_t left = std::max<std::int64_t>(0, (deadline - monotonic_now()).ns);
    timeout = {left / 1'000'000'000, left % 1'000'000'000};
    until = &timeout;
  }
  ppoll(polled, descriptor >= 0 ? 3 : 2, until, nullptr);
  if ((polled[1].revents & POLLIN) == 0) return;
  eventfd_t ignored;
  eventfd_read(state_->event.get(), &ignored);
}

void UdpSocket::wake() { eventfd_write(state_->event.get(), 1); }

SocketAddress UdpSocket::local_address() const {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof(address);
  getsockname(descriptor(), reinterpret_cast<sockaddr*>(&address), &bytes);
  return {reinterpret_cast<const sockaddr*>(&address), bytes};
}

int UdpSocket::descriptor() const { return state_->fd.get(); }
bool UdpSocket::sends_trains() const { return state_->sender.sends_trains(); }
bool UdpSocket::receives_trains() const { return state_->receiver.receives_trains(); }

UdpCounters UdpSocket::counters() const {
  UdpCounters counters = state_->sender.counters();
  state_->receiver.count(counters);
  return counters;
}

const std::optional<NarrowPath>& UdpSocket::narrow_path() const {
  return state_->sender.narrow_path();
}

}  // namespace infold::io
