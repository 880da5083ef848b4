// SPDX-License-Identifier: Apache-2.0
#include "study/measure/cost/ring_cost.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include "io/address/listen.h"
#include "io/address/tcp_connection.h"
#include "io/host/clock.h"
#include "study/measure/cost/processor_time.h"

namespace infold::measure {
namespace {

// The tensor is larger than caches, and the messages are as long as in a ring of 4 ranks.
constexpr std::size_t kTensorBytes = 16 << 20;
constexpr std::size_t kMessageBytes = kTensorBytes / 4;
constexpr std::size_t kMessages = 24;
constexpr base::Duration kConnect = base::seconds(5);

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("measuring a ring: ") + what + ": " + std::strerror(errno));
}

// Sends one message and receives another at the same time. Returns false if the connection fails.
bool exchange(int socket, const std::byte* out, std::byte* in) {
  std::size_t sent = 0;
  std::size_t received = 0;
  while (sent < kMessageBytes || received < kMessageBytes) {
    bool moved = false;
    if (sent < kMessageBytes) {
      const ssize_t bytes = send(socket, out + sent, kMessageBytes - sent, MSG_DONTWAIT);
      if (bytes < 0 && errno != EAGAIN) return false;
      if (bytes > 0) sent += static_cast<std::size_t>(bytes);
      moved = bytes > 0;
    }
    if (received < kMessageBytes) {
      const ssize_t bytes = recv(socket, in + received, kMessageBytes - received, MSG_DONTWAIT);
      if (bytes == 0 || (bytes < 0 && errno != EAGAIN)) return false;
      if (bytes > 0) received += static_cast<std::size_t>(bytes);
      moved = moved || bytes > 0;
    }
    if (moved) continue;
    const auto events = static_cast<short>((sent < kMessageBytes ? POLLOUT : 0) |
                                           (received < kMessageBytes ? POLLIN : 0));
    pollfd wanted = {socket, events, 0};
    poll(&wanted, 1, -1);
  }
  return true;
}

// Runs one rank. Every second message is a contribution, which is added; the others are results.
// Returns the processor time, or a negative number if the connection failed.
double run_rank(int socket) {
  std::vector<float> tensor(kTensorBytes / sizeof(float), 1.0F);
  std::vector<float> message(kMessageBytes / sizeof(float));
  const double before = thread_s();
  for (std::size_t i = 0; i < kMessages; ++i) {
    const std::size_t parts = kTensorBytes / kMessageBytes;
    const auto* const out = tensor.data() + i % parts * message.size();
    auto* const in = tensor.data() + (i + 1) % parts * message.size();
    const bool adds = i % 2 == 0;
    if (!exchange(socket, reinterpret_cast<const std::byte*>(out),
                  reinterpret_cast<std::byte*>(adds ? message.data() : in))) {
      shutdown(socket, SHUT_RDWR);
      return -1;
    }
    for (std::size_t k = 0; adds && k < message.size(); ++k) in[k] += message[k];
  }
  return thread_s() - before;
}

std::pair<io::FileDescriptor, io::FileDescriptor> connection() {
  const auto any = io::SocketAddress::parse_number("127.0.0.1:0", "ring");
  const auto listener = io::listen_at(*any, "ring");
  if (!listener) fail("no port on loopback");
  auto near =
      io::connect_tcp(io::local_address_of(listener->get()), io::monotonic_now() + kConnect);
  if (!near) fail("no connection on loopback");
  io::FileDescriptor far(accept(listener->get(), nullptr, nullptr));
  if (!far.is_open()) fail("no connection on loopback");
  return {std::move(*near), std::move(far)};
}

}  // namespace

double ring_byte_s() {
  const auto [near, far] = connection();
  double near_s = 0;
  std::thread other([&near_s, socket = near.get()] { near_s = run_rank(socket); });
  const double far_s = run_rank(far.get());
  other.join();
  if (near_s < 0 || far_s < 0) fail("the connection ended");
  return (near_s + far_s) / 2 / (kMessages * kMessageBytes);
}

}  // namespace infold::measure
