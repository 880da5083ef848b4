// SPDX-License-Identifier: Apache-2.0
//
// Workers around one aggregator on a scripted wire that loses packets.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core::testing {

inline bool encode_i32(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*,
                       std::byte*, std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, range.elements * std::size_t{4});
  return false;
}

inline void decode_i32(void*, std::byte* tensor, ChunkRange range,
                       const TensorCodec::Received& received) {
  std::memcpy(tensor + range.first * 4, received.elements, range.elements * std::size_t{4});
}

inline constexpr TensorCodec kI32Codec = {4, encode_i32, decode_i32};

// One aggregator, a few workers, and a wire that loses packets at random from a seed and does not
// delay any.
class Star {
 public:
  Star(std::uint16_t world, double loss, std::uint64_t seed, bool brief_results = false)
      : loss_(loss), prng_(seed) {
    AggregatorOptions aggregator;
    aggregator.brief_results = brief_results;
    aggregator.epoch = 7;
    aggregator.slot_count = 6;
    aggregator.world = world;
    for (std::uint16_t rank = 0; rank < world; ++rank) {
      aggregator.workers.push_back({rank, 1});
      WorkerOptions worker;
      worker.rank = rank;
      worker.world = world;
      worker.limits.datagram_bytes_max = 1472;
      worker.limits.elements_max = 32;
      worker.sites = {{.worker = static_cast<std::uint8_t>(rank), .epoch = 7}};
      worker.small_slots = 2;
      worker.bulk_slots = 4;
      worker.seed = seed + rank;
      workers_.emplace_back(worker);
    }
    aggregator_.emplace(aggregator);
  }

  Worker& worker(std::size_t rank) { return workers_[rank]; }
  Aggregator& aggregator() { return *aggregator_; }
  const std::vector<Event>& events() const { return events_; }

  // Moves time from deadline to deadline until `done` or the limit. Returns whether `done` was
  // reached.
  template <typename Done>
  bool run(Done done, base::Duration limit = base::seconds(60)) {
    const base::Instant end = now_ + limit;
    while (!done() && now_ < end) {
      exchange();
      if (done()) return true;
      base::Instant next = end;
      for (Worker& worker : workers_) next = std::min(next, worker.poll_timeout().value_or(end));
      now_ = std::max(now_ + base::nanoseconds(1000), next);
      for (Worker& worker : workers_) worker.handle_timeout(now_);
      collect();
    }
    return done();
  }
  base::Instant now() const { return now_; }

 private:
  void collect() {
    for (Worker& worker : workers_) {
      while (auto event = worker.poll_event()) events_.push_back(*event);
    }
  }

  void exchange() {
    bool moved = true;
    std::vector<std::byte> out(1472);
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
        while (auto transmit = workers_[rank].poll_transmit(now_, out)) {
          moved = true;
          if (prng_.chance(loss_)) continue;
          aggregator_->handle_datagram(std::span(out).first(transmit->bytes));
          deliver();
        }
      }
      collect();
    }
  }

  void deliver() {
    while (auto transmit = aggregator_->poll_transmit()) {
      for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
        const bool is_meant =
            transmit->to == Aggregator::To::all_workers || transmit->worker == rank;
        if (is_meant && !prng_.chance(loss_)) {
          workers_[rank].handle_datagram(now_, 0, transmit->datagram_for(rank));
        }
      }
    }
  }

  double loss_;
  base::Prng prng_;
  base::Instant now_;
  std::vector<Worker> workers_;
  std::optional<Aggregator> aggregator_;
  std::vector<Event> events_;
};

inline TransferRequest sum_of(std::vector<std::int32_t>& tensor) {
  TransferRequest request;
  request.layout = {WireFormat::i32, DataType::i32};
  request.elements = tensor.size();
  request.codec = &kI32Codec;
  request.input = reinterpret_cast<const std::byte*>(tensor.data());
  request.output = reinterpret_cast<std::byte*>(tensor.data());
  return request;
}

}  // namespace infold::core::testing
