// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a rank whose job is on one host. It reaches every site through memory: the first
// ranks are the sites, and neighbour s is the site at rank s. If this rank is a site, the thread
// that receives also sums for the others. Packets between the rank's own worker and site stay in
// the process, and the worker reads results where the aggregator keeps them.
//
// A result is valid until the chunk after the next begins in its slot. That chunk needs the
// reader's own next contribution, so the result outlasts the batch in which it is handed out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "core/aggregator/aggregator.h"
#include "io/memory/shared_memory_endpoint.h"

namespace infold::rank {

class SummingMemoryEndpoint final : public io::Endpoint {
 public:
  // The direction of a link's datagrams: to the site at the other end, or from it.
  enum Channel : std::uint32_t { to_site, from_site, channel_count };

  // `memory` has a link to each rank that this rank exchanges packets with, in the order of ranks.
  // Without `site`, nothing is summed here. The site's workers are the job's ranks.
  SummingMemoryEndpoint(std::unique_ptr<io::SharedMemoryEndpoint> memory, std::uint16_t rank,
                        const std::optional<core::AggregatorOptions>& site);
  ~SummingMemoryEndpoint() override;  // tells the job that this aggregator has stopped

  void send(io::Neighbour to, std::span<const std::byte> datagram) override {
    send_apart(to, datagram, {});
  }
  bool sends_apart() const override { return true; }
  void send_apart(io::Neighbour to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  bool is_blocked() const override { return memory_->is_blocked(); }
  std::span<const io::Received> receive() override;
  std::optional<std::size_t> served() const override { return served_; }
  void wait(base::Instant deadline) override;
  void wake() override { memory_->wake(); }
  io::EndpointCounters counters() const override;

 private:
  // Answers to this rank's worker. Repeats and short answers are copied.
  struct Answers {
    std::vector<std::span<const std::byte>> results;
    std::vector<std::byte> copies;
    std::vector<std::size_t> copy_bytes;  // length of each copy

    bool empty() const { return results.empty() && copy_bytes.empty(); }
    void clear();
  };

  io::Neighbour neighbour_of(std::uint32_t rank, Channel channel) const;
  std::uint32_t rank_of(io::Neighbour neighbour) const;
  bool is_own(io::Neighbour site) const { return static_cast<std::uint32_t>(site) == rank_; }
  // A sender holds the lock from its first datagram to the flush that follows. clang cannot follow
  // a lock from one call to the next.
  void lock_for_sending() ASSERT_CAPABILITY(mutex_) NO_THREAD_SAFETY_ANALYSIS;
  void unlock_after_sending() RELEASE(mutex_);
  void handle(std::span<const std::byte> datagram, std::uint32_t from) REQUIRES(mutex_);
  void send_answers() REQUIRES(mutex_);
  void answer(std::uint32_t worker, std::span<const std::byte> datagram, bool is_result)
      REQUIRES(mutex_);
  void take_answers() REQUIRES(mutex_);

  const std::uint16_t rank_;

  // Used by senders.
  std::uint64_t sent_ = 0;
  bool sends_ = false;  // whether a sender holds mutex_

  // Used by the thread that receives.
  std::size_t served_ = 0;
  std::vector<io::Received> received_;
  Answers taken_;

  // Senders and the thread that receives use the queues and the site.
  mutable base::Mutex mutex_;
  // Its methods need the lock, except wait(), wake() and is_blocked().
  std::unique_ptr<io::SharedMemoryEndpoint> memory_;
  std::optional<core::Aggregator> site_ GUARDED_BY(mutex_);
  std::uint32_t workers_ GUARDED_BY(mutex_) = 0;  // how many workers the site has
  // The own worker's datagram, joined here if its payload comes apart from its header.
  std::vector<std::byte> own_ GUARDED_BY(mutex_);
  Answers answers_ GUARDED_BY(mutex_);
  bool sleeps_ GUARDED_BY(mutex_) = false;
};

}  // namespace infold::rank
