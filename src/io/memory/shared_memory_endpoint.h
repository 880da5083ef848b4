// SPDX-License-Identifier: Apache-2.0
//
// An endpoint over memory that this process shares with others of the host: for each of them a ring
// in and a ring out. Whoever finds nothing to read sleeps at a doorbell, and is rung once for a
// batch. A full ring drops what is sent to it. A party that writes nonsense into its ring is heard
// no more, and sent nothing.
//
// Peer i x channels + c is channel c of link i: each link carries that many conversations.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <poll.h>
#include <vector>

#include "io/endpoint.h"
#include "io/memory/doorbell.h"
#include "io/memory/shared_memory.h"
#include "io/memory/shared_memory_ring.h"

namespace infold::io {

// One end of two rings. Both ends may be in one process; they then share the mapping.
struct SharedMemoryLink {
  enum class Side : std::uint8_t { host, member };  // which of the rings it writes

  std::shared_ptr<SharedMemory> memory;
  Side side = Side::member;
  Doorbell bell;  // the other end's

  static std::size_t memory_bytes(const RingShape& shape) { return 2 * shape.memory_bytes(); }
  std::span<std::byte> ring(bool of_host, const RingShape& shape) const {
    const std::span<std::byte> both = memory->bytes();
    return of_host ? both.first(shape.memory_bytes()) : both.last(shape.memory_bytes());
  }
};

class SharedMemoryEndpoint final : public Endpoint {
 public:
  // `own` is the bell that the other ends ring.
  SharedMemoryEndpoint(Doorbell own, const RingShape& shape, std::vector<SharedMemoryLink> links);

  std::size_t peer_count() const { return links_.size() * shape_.channels; }

  std::span<std::byte> place() override;
  void send(Peer to, std::span<const std::byte> datagram) override;
  void flush() override;
  bool is_blocked() const override { return blocked_.load(std::memory_order_relaxed); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override { wait_beside(deadline, nullptr); }
  // The same, and until something that is polled for happens at `other`, if there is one.
  void wait_beside(base::Instant deadline, pollfd* other);
  void wake() override { own_.ring(); }
  EndpointCounters counters() const override { return counters_; }

 private:
  struct Link {
    Link(SharedMemoryLink both, const RingShape& shape);

    SharedMemoryLink ends;
    RingWriter out;
    RingReader in;
    std::atomic<bool> broken{false};  // as either thread has found
  };

  void give_back();
  void take_from(std::size_t index, std::size_t most);

  Doorbell own_;
  RingShape shape_;
  std::deque<Link> links_;
  EndpointCounters counters_;
  std::atomic<bool> blocked_{false};

  std::size_t next_link_ = 0;  // whose turn it is to be read first
  std::vector<Received> received_;
};

}  // namespace infold::io
