// SPDX-License-Identifier: Apache-2.0
//
// Where a driver sends and receives datagrams. Like a network, an endpoint may lose, repeat and
// reorder them, and never reports that it did. Peers are small numbers, given out when the endpoint
// is set up; what lies behind them (a queue, an address) is the endpoint's affair, and senders it
// does not know are dropped there.
//
// One thread receives and waits. Senders take turns: send, flush and counters are never called at
// the same time as each other. wake() may be called from anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/instant.h"

namespace infold::io {

enum class Peer : std::uint32_t {};

struct Received {
  Peer from{};
  std::span<const std::byte> datagram;
};

struct EndpointCounters {
  std::uint64_t sent = 0;        // handed to send()
  std::uint64_t arrived = 0;     // at a lossy endpoint, lost there or not
  std::uint64_t lost = 0;        // on purpose, by a lossy endpoint
  std::uint64_t duplicated = 0;  // likewise
  std::uint64_t reordered = 0;   // likewise
  std::uint64_t overflowed = 0;  // the queue towards a peer was full

  EndpointCounters& operator+=(const EndpointCounters& other) {
    sent += other.sent;
    arrived += other.arrived;
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    overflowed += other.overflowed;
    return *this;
  }
};

// A peer whose path no longer carries what was sent to it.
struct NarrowPeer {
  Peer peer{};
  int mtu_bytes = 0;  // of the path, as the kernel has learnt it
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // Where the next datagram that is sent may be written, to any peer: it is then not copied. Valid
  // until the next send() or flush(). Empty where an endpoint has no such place, or no room now.
  virtual std::span<std::byte> place() { return {}; }
  // Takes a copy. May keep it back until flush().
  virtual void send(Peer to, std::span<const std::byte> datagram) = 0;
  virtual void flush() = 0;
  // What was sent last is still here, because the host's own queue is full: better send no more
  // until wait() has returned and flush() was called.
  virtual bool is_blocked() const { return false; }

  // What has arrived, up to a batch; empty if nothing has. Valid until the next receive().
  virtual std::span<const Received> receive() = 0;
  // How many datagrams the last receive() took besides, to answer others that wait for them;
  // nothing at an endpoint that serves nobody.
  virtual std::optional<std::size_t> served() const { return std::nullopt; }

  // Returns when something has arrived, at the deadline, when somebody called wake(), even before
  // this call, or when a blocked endpoint has room again. May return early for no reason.
  virtual void wait(base::Instant deadline) = 0;
  virtual void wake() = 0;

  // The first peer that long datagrams no longer reach; nothing at an endpoint that cannot know.
  // For senders, in turn with send() and flush().
  virtual std::optional<NarrowPeer> narrow_peer() const { return std::nullopt; }

  virtual EndpointCounters counters() const = 0;
};

}  // namespace infold::io
