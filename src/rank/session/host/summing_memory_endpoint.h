// SPDX-License-Identifier: Apache-2.0
//
// The endpoint of a rank whose job is on one host. It reaches every site over memory: the first
// ranks are the sites, and peer s is the site at rank s. If this rank is one of them, the thread
// that receives also sums for the others. Packets between the worker and the site of one rank stay
// in the process, and results are read where the aggregator keeps them.
//
// A result is valid until its slot's second next chunk begins, which needs the reader's own next
// contribution. So it outlasts the batch in which it is handed out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/memory/shared_memory_endpoint.h"

namespace infold::rank {

class SummingMemoryEndpoint final : public io::Endpoint {
 public:
  // Of a link's datagrams: to the site at its other end, or from it.
  enum Channel : std::uint32_t { to_site, from_site, channel_count };

  // `memory` has a link to each rank that this one exchanges packets with, in the order of ranks.
  // Nothing sums here without `site`, whose workers are the job's ranks.
  SummingMemoryEndpoint(std::unique_ptr<io::SharedMemoryEndpoint> memory, std::uint16_t rank,
                        const std::optional<core::AggregatorOptions>& site);
  ~SummingMemoryEndpoint() override;  // tells the job that this aggregator has stopped

  void send(io::Peer to, std::span<const std::byte> datagram) override {
    send_apart(to, datagram, {});
  }
  bool sends_apart() const override { return true; }
  void send_apart(io::Peer to, std::span<const std::byte> head,
                  std::span<const std::byte> payload) override;
  void flush() override;
  bool is_blocked() const override { return memory_->is_blocked(); }
  std::span<const io::Received> receive() override;
  std::optional<std::size_t> served() const override { return served_; }
  void wait(base::Instant deadline) override;
  void wake() override { memory_->wake(); }
  io::EndpointCounters counters() const override;

 private:
  // Answers to the own worker. Repeats and short answers are copied.
  struct Answers {
    std::vector<std::span<const std::byte>> results;
    std::vector<std::byte> copies;
    std::vector<std::size_t> copy_bytes;  // of each

    bool empty() const { return results.empty() && copy_bytes.empty(); }
    void clear();
  };

  io::Peer peer_of(std::uint32_t rank, Channel channel) const;
  std::uint32_t rank_of(io::Peer peer) const;
  bool is_own(io::Peer site) const { return static_cast<std::uint32_t>(site) == rank_; }
  void lock_for_sending();
  void handle(std::span<const std::byte> datagram, std::uint32_t from);
  void send_answers();
  void answer(std::uint32_t worker, std::span<const std::byte> datagram, bool is_result);
  void take_answers();

  const std::uint16_t rank_;
  std::uint64_t sent_ = 0;

  // Of the thread that receives.
  std::size_t served_ = 0;
  std::vector<io::Received> received_;
  Answers taken_;

  std::mutex mutex_;  // of all below: senders and the thread that receives use the queues and site
  std::unique_ptr<io::SharedMemoryEndpoint> memory_;
  std::optional<core::Aggregator> site_;
  std::uint32_t workers_ = 0;   // of the site
  std::vector<std::byte> own_;  // the own worker's datagram, if its payload came apart
  Answers answers_;
  bool sleeps_ = false;
  // Held from the first datagram until the flush after it.
  std::unique_lock<std::mutex> sending_;
};

}  // namespace infold::rank
