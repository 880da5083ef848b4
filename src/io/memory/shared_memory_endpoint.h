// SPDX-License-Identifier: Apache-2.0
//
// An endpoint over memory that this process shares with other processes of the host. Each link to
// one of them has a queue in and a queue out. A reader that finds nothing sleeps at its doorbell,
// which the writer rings once for each batch. A datagram for a full queue is dropped. If another
// rank writes impossible values into a queue, the link is broken: this endpoint never reads from it
// or writes to it again.
//
// Each link carries several channels. Neighbour i x channels + c is channel c of link i.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <poll.h>
#include <vector>

#include "io/endpoint.h"
#include "io/memory/doorbell.h"
#include "io/memory/shared_memory.h"
#include "io/memory/shared_memory_queue.h"

namespace infold::io {

// One end of a pair of queues. If both ends are in one process, they share the mapping.
struct SharedMemoryLink {
  enum class Side : std::uint8_t { host, member };  // which queue this end writes

  std::shared_ptr<SharedMemory> memory;
  Side side = Side::member;
  Doorbell bell;  // the doorbell of the other end

  static std::size_t memory_bytes(const QueueShape& shape) { return 2 * shape.memory_bytes(); }
  std::span<std::byte> queue(bool of_host, const QueueShape& shape) const {
    const std::span<std::byte> both = memory->bytes();
    return of_host ? both.first(shape.memory_bytes()) : both.last(shape.memory_bytes());
  }
};

class SharedMemoryEndpoint final : public Endpoint {
 public:
  // `own` is the doorbell that the other ends ring.
  SharedMemoryEndpoint(Doorbell own, const QueueShape& shape, std::vector<SharedMemoryLink> links);

  std::size_t neighbour_count() const { return links_.size() * shape_.channels; }

  std::span<std::byte> place() override;
  void send(Neighbour to, std::span<const std::byte> datagram) override {
    send_apart(to, datagram, {});
  }
  bool sends_apart() const override { return true; }
  void send_apart(Neighbour to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  bool is_blocked() const override { return blocked_.load(std::memory_order_relaxed); }
  std::span<const Received> receive() override;
  void wait(base::Instant deadline) override { wait_beside(deadline, nullptr); }
  // Like wait(), but also returns when poll() reports an event for `other`, unless that is null.
  void wait_beside(base::Instant deadline, pollfd* other);
  void wake() override { own_.ring(); }
  EndpointCounters counters() const override { return counters_; }

 private:
  struct Link {
    Link(SharedMemoryLink both, const QueueShape& shape);

    SharedMemoryLink ends;
    QueueWriter out;
    QueueReader in;
    std::atomic<bool> broken{false};  // either thread may find that it is
  };

  void give_back();
  void take_from(std::size_t index, std::size_t most);

  Doorbell own_;
  QueueShape shape_;
  std::deque<Link> links_;
  EndpointCounters counters_;
  std::atomic<bool> blocked_{false};

  std::size_t next_link_ = 0;  // where the next receive() begins
  std::vector<Received> received_;
};

}  // namespace infold::io
