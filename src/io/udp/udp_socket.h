// SPDX-License-Identifier: Apache-2.0
//
// A UDP socket that moves datagrams in trains: one system call moves many datagrams of one length,
// with the kernel's segmentation and receive offloads. If a kernel or a path lacks the offloads,
// each datagram is a message of its own. Callers only ever see datagrams.
//
// One thread calls receive() and wait(), and another one may call the rest. In either role, several
// threads may take turns.
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
  std::size_t datagram_bytes_max = 1472;  // longer datagrams are dropped
  int receive_buffer_bytes = 8 << 20;     // or as much as the kernel allows
  // Smaller than a link's queue, so that the socket blocks before that queue drops packets.
  int send_buffer_bytes = 96 << 10;
  bool offload = true;      // whether to use the kernel's offloads
  std::string device = {};  // the interface to use; empty: the routes decide
  // If true, datagrams that the kernel has no room for are kept until a later flush(), and
  // is_blocked() reports it. Otherwise the socket drops and counts them.
  bool keeps_blocked = false;
};

struct UdpCounters {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t misfits = 0;         // received datagrams that are too long or too short
  std::uint64_t calls_sent = 0;      // messages to the kernel; one call may take many
  std::uint64_t calls_received = 0;  // messages from the kernel
  std::uint64_t blocked = 0;         // datagrams dropped because the kernel's queue was full
  std::uint64_t refused = 0;         // datagrams that the kernel refused to send
  std::uint64_t too_long = 0;        // datagrams longer than the path's MTU
};

// A path whose MTU is smaller than a datagram that was sent to it.
struct NarrowPath {
  SocketAddress to;
  int mtu_bytes = 0;  // as the kernel knows it; 0: unknown
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

  // Returns datagram_bytes_max bytes in which to write the next datagram, in the train that it will
  // probably join. It is copied only if its addresses differ from the predicted ones. Valid until
  // the next send() or flush(). Empty if the predicted train takes no more.
  std::span<std::byte> place();
  // Adds the datagram to the train for these addresses, and copies it unless it was written into
  // place(). The train goes out when it is full, when a datagram does not fit into it, when another
  // list needs its train, or with flush(). `to` must stay unchanged until then, because its address
  // in memory identifies the list. `payload` follows the bytes of `datagram` on the wire and is not
  // copied. It must stay unchanged until flush() has returned.
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
            std::span<const std::byte> payload = {});
  void flush();
  bool is_blocked() const;

  // Reads a batch of datagrams, which is valid until the next call.
  std::span<const Arrival> receive();
  // Returns when a datagram has arrived, at the deadline, after wake(), or when a blocked socket
  // has room again.
  void wait(base::Instant deadline);
  // Like wait(), but also returns when `descriptor` is readable.
  void wait_beside(base::Instant deadline, int descriptor);
  void wake();  // from any thread

  SocketAddress local_address() const;
  int descriptor() const;  // for poll()
  bool sends_trains() const;
  bool receives_trains() const;
  UdpCounters counters() const;
  // The first path that was found too narrow. Datagrams longer than its MTU are lost.
  const std::optional<NarrowPath>& narrow_path() const;

 private:
  struct State;
  explicit UdpSocket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
