// SPDX-License-Identifier: Apache-2.0
//
// A driver sends and receives datagrams through an endpoint. Like a network, an endpoint may lose,
// repeat and reorder datagrams without reporting it. A neighbour is a small number that stands for
// a queue or an address; neighbours are numbered when the endpoint is set up. An endpoint drops
// datagrams from senders that are not its neighbours.
//
// One thread calls receive(), served() and wait(). Threads that send take turns: only one at a time
// may call place(), send(), send_apart(), flush() or counters(). Any thread may call wake().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/instant.h"

namespace infold::io {

enum class Neighbour : std::uint32_t {};

struct Received {
  Neighbour from{};
  std::span<const std::byte> datagram;
};

struct EndpointCounters {
  std::uint64_t sent = 0;        // datagrams given to send()
  std::uint64_t arrived = 0;     // counted by a lossy endpoint; includes the ones it lost
  std::uint64_t lost = 0;        // dropped on purpose by a lossy endpoint
  std::uint64_t duplicated = 0;  // sent twice on purpose, by a lossy endpoint
  std::uint64_t reordered = 0;   // held back on purpose, by a lossy endpoint
  std::uint64_t overflowed = 0;  // dropped because the queue to a neighbour was full
  // An endpoint over a socket counts the messages that it exchanges with the kernel. A message is
  // one datagram or a train of them.
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

// A neighbour behind a path whose MTU is smaller than a datagram that was sent to it.
struct NarrowNeighbour {
  Neighbour neighbour{};
  int mtu_bytes = 0;  // the path's MTU, as the kernel knows it
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Returns memory in which to write the next datagram, whatever its neighbour, which usually saves
  // a copy. Valid until the next send() or flush(). Empty if the endpoint offers no such memory or
  // has no room.
  virtual std::span<std::byte> place() { return {}; }
  // Copies the datagram unless it was written into place(). May hold it back until flush().
  virtual void send(Neighbour to, std::span<const std::byte> datagram) = 0;
  // Whether the endpoint has send_apart().
  virtual bool sends_apart() const { return false; }
  // Like send(), but the payload lies elsewhere and is not copied. It must stay unchanged until
  // flush() has returned. Requires: sends_apart().
  virtual void send_apart(Neighbour /*to*/, std::span<const std::byte> /*head*/,
                          std::span<const std::byte> /*payload*/) {
    CHECK(sends_apart());
  }
  virtual void flush() = 0;
  // Whether the last datagrams are still here because the host's own queue is full. The sender
  // should then wait for wait() to return and call flush() before it sends more.
  virtual bool is_blocked() const { return false; }

  // Reads a batch of datagrams, which may be empty. The batch is valid until the next receive().
  virtual std::span<const Received> receive() = 0;
  // How many datagrams the last receive() read and answered on behalf of other ranks, beside those
  // that it returned. Empty if the endpoint does not serve other ranks.
  virtual std::optional<std::size_t> served() const { return std::nullopt; }

  // Returns when a datagram has arrived, at the deadline, or when a blocked endpoint has room
  // again. wake() also ends the wait, even if it was called first. May return early.
  virtual void wait(base::Instant deadline) = 0;
  virtual void wake() = 0;

  // Returns the first neighbour that long datagrams no longer reach. Empty if there is none, or if
  // the endpoint cannot know. Threads that send take turns with this call as well.
  virtual std::optional<NarrowNeighbour> narrow_neighbour() const { return std::nullopt; }

  virtual EndpointCounters counters() const = 0;
};

}  // namespace infold::io
