// SPDX-License-Identifier: Apache-2.0
//
// A UDP socket that moves trains of datagrams: many of one size in one system call, by the
// kernel's segmentation and receive offloads, or one message each where a kernel or a path has
// none. Whoever calls sees datagrams only.
//
// For one thread, or for several that take turns; receive() and wait() are one party, the rest the
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::io {

struct UdpOptions {
  SocketAddress bind;                     // port 0: any
  std::size_t datagram_bytes_max = 1472;  // what is longer is dropped
  int receive_buffer_bytes = 8 << 20;     // as far as the kernel allows
  // Less than a link's queue, so that a socket blocks where that queue would drop.
  int send_buffer_bytes = 96 << 10;
  bool offload = true;      // false: as if the kernel had no offloads
  std::string device = {};  // the interface to use whatever the routes say; empty: the routes'
  // What the kernel has no room for stays for a later flush(), and is_blocked() says so; else it is
  // dropped and counted.
  bool keeps_blocked = false;
};

struct UdpCounters {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t misfits = 0;         // what came and is no datagram of ours by its length alone
  std::uint64_t calls_sent = 0;      // system calls, or messages within one
  std::uint64_t calls_received = 0;  // likewise
  std::uint64_t blocked = 0;         // datagrams dropped because the kernel's queue was full
  std::uint64_t refused = 0;         // datagrams that the kernel would not send
  std::uint64_t too_long = 0;  // datagrams longer than their path carries, as the kernel knows
};

// A path that carries less than what was sent to it.
struct NarrowPath {
  SocketAddress to;
  int mtu_bytes = 0;  // as the kernel has learnt it; 0 where it does not say
};

class UdpSocket {
 public:
  struct Arrival {
    const SocketAddress* from;
    std::span<const std::byte> datagram;
  };

  static base::Result<UdpSocket> open(const UdpOptions& options);
  UdpSocket(UdpSocket&& other) noexcept;
  UdpSocket& operator=(UdpSocket&& other) noexcept;
  ~UdpSocket();

  // Where the next datagram that is sent may be written, of up to datagram_bytes_max, whatever its
  // addresses: it is then not copied. Valid until the next send() or flush(). Empty where the
  // kernel has not taken what fills this memory.
  std::span<std::byte> place();
  // Puts the datagram in the train for these addresses, and copies it unless it is in its place()
  // already. The train goes out when it is full, when a longer datagram follows, or with flush().
  // `to` must live, unchanged, until then, and its address in memory tells one list from another.
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram);
  void flush();
  bool is_blocked() const;

  // What has arrived, up to a batch; valid until the next call.
  std::span<const Arrival> receive();
  // Until something has arrived, the deadline, wake(), or, while blocked, there is room again.
  void wait(base::Instant deadline);
  // The same, and until there is something to read at that descriptor.
  void wait_beside(base::Instant deadline, int descriptor);
  void wake();  // from any thread

  SocketAddress local_address() const;
  int descriptor() const;  // to poll beside others
  bool sends_trains() const;
  bool receives_trains() const;
  UdpCounters counters() const;
  // The first path that was found too narrow. What is longer than it carries is lost.
  const std::optional<NarrowPath>& narrow_path() const;

 private:
  struct State;
  explicit UdpSocket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
