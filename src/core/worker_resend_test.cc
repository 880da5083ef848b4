// SPDX-License-Identifier: Apache-2.0
//
// What a worker asks about, and when, while another rank has contributed nothing.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator.h"
#include "core/worker.h"

namespace infold::core {
namespace {

using base::Instant;

bool encode(const std::byte* tensor, ChunkRange range, const std::uint16_t*, std::byte*,
            std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, range.elements * std::size_t{4});
  return false;
}

constexpr TensorCodec kCodec = {4, encode, nullptr};

// Rank 0 of two, whose packets take no time. Rank 1 is late for the whole test.
class LonelyWorker {
 public:
  LonelyWorker() : worker_(worker_options()), aggregator_(aggregator_options()) {}

  void call() {
    TransferRequest request;
    request.layout = {WireFormat::i32, DataType::i32};
    request.elements = 1;
    request.codec = &kCodec;
    request.input = reinterpret_cast<const std::byte*>(&input_);
    ASSERT_TRUE(worker_.submit(now_, request).has_value());
  }

  // Moves time to the worker's next deadline. The packet with this number is lost.
  void step(std::uint64_t lost) {
    now_ = std::max(now_, worker_.poll_timeout().value_or(now_));
    worker_.handle_timeout(now_);
    std::vector<std::byte> out(1472);
    while (const auto sent = worker_.poll_transmit(now_, out)) {
      if (sends_++ == lost) continue;
      aggregator_.handle_datagram(std::span(out).first(sent->bytes));
      while (const auto answer = aggregator_.poll_transmit()) {
        worker_.handle_datagram(now_, 0, answer->datagram);
      }
    }
  }

  std::uint64_t contributed() const {
    return aggregator_.counters()[static_cast<std::size_t>(Verdict::contributed)];
  }
  const WorkerCounters& counters() const { return worker_.counters(); }
  Instant now() const { return now_; }

 private:
  static WorkerOptions worker_options() {
    WorkerOptions options;
    options.world = 2;
    options.limits.datagram_bytes_max = 1472;
    options.sites = {{.worker = 0, .epoch = 7}};
    return options;
  }
  static AggregatorOptions aggregator_options() {
    AggregatorOptions options;
    options.epoch = 7;
    options.slot_count = 512;
    options.world = 2;
    options.workers = {{0, 1}, {1, 1}};
    options.datagram_bytes_max = 1472;
    return options;
  }

  std::int32_t input_ = 1;
  Instant now_;
  Worker worker_;
  Aggregator aggregator_;
  std::uint64_t sends_ = 0;
};

// The worker asked about its chunks in turn, each time after twice the wait, because the answers
// said that rank 1 was late. Its own lost contribution was the last that it asked about.
TEST(WorkerResend, ALatePeerHidesNoLostContribution) {
  constexpr std::uint64_t kCalls = 14;
  LonelyWorker rank;
  for (std::uint64_t i = 0; i < kCalls; ++i) rank.call();
  while (rank.contributed() < kCalls && rank.now() < Instant{} + base::seconds(10)) {
    rank.step(kCalls - 1);
  }
  EXPECT_EQ(rank.contributed(), kCalls);
  EXPECT_LT(rank.now(), Instant{} + base::milliseconds(500));
}

// Once the aggregator has everything, the worker asks ever more rarely.
TEST(WorkerResend, ALatePeerIsAskedAboutEverMoreRarely) {
  LonelyWorker rank;
  for (int i = 0; i < 14; ++i) rank.call();
  while (rank.now() < Instant{} + base::seconds(20)) rank.step(~std::uint64_t{0});
  EXPECT_LT(rank.counters().sent_query + rank.counters().resent_timeout, 150U);
}

}  // namespace
}  // namespace infold::core
