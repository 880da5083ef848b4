// SPDX-License-Identifier: Apache-2.0
//
// A driver sends and receives datagrams through an endpoint. Like a network, an endpoint may lose,
// repeat and reorder datagrams without a report. A peer is a small number that stands for a queue
// or an address. The numbers are given when the endpoint is set up. An endpoint drops datagrams
// from senders that are no peers.
//
// One thread calls receive(), served() and wait(). Senders take turns with place(), send(), flush()
// and counters(). Any thread may call wake().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/instant.h"

namespace infold::io {

enum class Peer : std::uint32_t {};

struct Received {
  Peer from{};
  std::span<const std::byte> datagram;
};

struct EndpointCounters {
  std::uint64_t sent = 0;        // given to send()
  std::uint64_t arrived = 0;     // at a lossy endpoint, with those it lost
  std::uint64_t lost = 0;        // on purpose, by a lossy endpoint
  std::uint64_t duplicated = 0;  // likewise
  std::uint64_t reordered = 0;   // likewise
  std::uint64_t overflowed = 0;  // dropped, because the queue to a peer was full
  // Of an endpoint over a socket: what went to the kernel and came from it. A message is a datagram
  // or a train of them.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;

  EndpointCounters& operator+=(const EndpointCounters& other) {
    sent += other.sent;
    arrived += other.arrived;
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    overflowed += other.overflowed;
    messages_sent += other.messages_sent;
    messages_received += other.messages_received;
    return *this;
  }
};

// A peer whose path has an MTU smaller than a datagram that was sent to it.
struct NarrowPeer {
  Peer peer{};
  int mtu_bytes = 0;  // of the path, as the kernel knows it
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Memory for the next datagram, to any peer, which saves its copy as a rule. Valid until the next
  // send() or flush(). Empty if the endpoint has no such memory, or no room.
  virtual std::span<std::byte> place() { return {}; }
  // Copies the datagram unless it is in place(). May hold it back until flush().
  virtual void send(Peer to, std::span<const std::byte> datagram) = 0;
  // Whether the endpoint has send_apart().
  virtual bool sends_apart() const { return false; }
  // As send(), of a datagram whose payload lies elsewhere and is not copied. The payload must live
  // unchanged until flush() has returned. Requires: sends_apart().
  virtual void send_apart(Peer /*to*/, std::span<const std::byte> /*head*/,
                          std::span<const std::byte> /*payload*/) {
    CHECK(sends_apart());
  }
  virtual void flush() = 0;
  // The last datagrams are still here, because the host's own queue is full. The sender should send
  // no more until wait() has returned and flush() was called.
  virtual bool is_blocked() const { return false; }

  // Reads a batch of datagrams, or none. Valid until the next receive().
  virtual std::span<const Received> receive() = 0;
  // How many more datagrams the last receive() read and answered for other ranks. Nothing at an
  // endpoint that serves no other ranks.
  virtual std::optional<std::size_t> served() const { return std::nullopt; }

  // Returns when a datagram has arrived, at the deadline, after wake() even before this call, or
  // when a blocked endpoint has room again. May return early.
  virtual void wait(base::Instant deadline) = 0;
  virtual void wake() = 0;

  // The first peer that long datagrams no longer reach. Nothing at an endpoint that cannot know.
  // Senders take turns with it too.
  virtual std::optional<NarrowPeer> narrow_peer() const { return std::nullopt; }

  virtual EndpointCounters counters() const = 0;
};

}  // namespace infold::io
