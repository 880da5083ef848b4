// SPDX-License-Identifier: Apache-2.0
//
// A UDP socket that moves trains of datagrams: many of one length in one system call, with the
// kernel's segmentation and receive offloads. If a kernel or a path lacks them, each datagram is a
// message. Callers see datagrams only.
//
// One thread calls receive() and wait(). Another one may call the rest. Several threads may take
// turns in either part.
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
  int receive_buffer_bytes = 8 << 20;     // as far as the kernel allows
  // Smaller than a link's queue, so the socket blocks before that queue drops packets.
  int send_buffer_bytes = 96 << 10;
  bool offload = true;      // false: uses no offloads
  std::string device = {};  // the interface to use; empty: as routes say
  // Keeps datagrams that the kernel has no room for until a later flush(), and reports
  // is_blocked(). Otherwise the socket drops and counts them.
  bool keeps_blocked = false;
};

struct UdpCounters {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t misfits = 0;         // received datagrams that are too long or too short
  std::uint64_t calls_sent = 0;      // system calls, or messages in one
  std::uint64_t calls_received = 0;  // likewise
  std::uint64_t blocked = 0;         // datagrams dropped because the kernel's queue was full
  std::uint64_t refused = 0;         // datagrams that the kernel refused to send
  std::uint64_t too_long = 0;        // datagrams longer than the path's MTU
};

// A path whose MTU is smaller than a datagram that was sent to it.
struct NarrowPath {
  SocketAddress to;
  int mtu_bytes = 0;  // as the kernel knows it; 0 if it does not
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

  // Memory for the next datagram, of datagram_bytes_max, in the train that probably takes it. The
  // datagram is copied only if its addresses differ from the predicted ones. Valid until the next
  // send() or flush(). Empty if that train takes no more.
  std::span<std::byte> place();
  // Adds the datagram to the train for these addresses. Copies it unless it is in place() already.
  // The train goes out when it is full, when no other datagram can join it, or with flush(). `to`
  // must live unchanged until then. Its address in memory identifies the list.
  // A payload follows the datagram's bytes and is not copied. It must live unchanged until flush()
  // has returned.
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
            std::span<const std::byte> payload = {});
  void flush();
  bool is_blocked() const;

  // Reads a batch of datagrams. Valid until the next call.
  std::span<const Arrival> receive();
  // Returns when a datagram has arrived, at the deadline, after wake(), or when a blocked socket
  // has room again.
  void wait(base::Instant deadline);
  // As wait(), but also returns when that descriptor is readable.
  void wait_beside(base::Instant deadline, int descriptor);
  void wake();  // from any thread

  SocketAddress local_address() const;
  int descriptor() const;  // for poll()
  bool sends_trains() const;
  bool receives_trains() const;
  UdpCounters counters() const;
  // The first path that was found too narrow. Longer datagrams to it are lost.
  const std::optional<NarrowPath>& narrow_path() const;

 private:
  struct State;
  explicit UdpSocket(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
