// SPDX-License-Identifier: Apache-2.0
//
// A tensor goes over two sites, one of which answers late. The tests check how far the worker
// continues with the other site.
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core {
namespace {

bool encode(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*,
            std::byte*, std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, range.elements * std::size_t{4});
  return false;
}

void decode(void*, std::byte*, ChunkRange, const TensorCodec::Received&) {}

constexpr TensorCodec kCodec = {4, encode, decode};

// The only rank of its job. Packets to a site take no time, unless the site is silent.
class WorkerOfTwoSites {
 public:
  WorkerOfTwoSites() : worker_(worker_options()), sites_{aggregator(), aggregator()} {}

  void call(std::span<const std::int32_t> input) {
    TransferRequest request;
    request.layout = {WireFormat::i32, DataType::i32};
    request.elements = input.size();
    request.codec = &kCodec;
    request.input = reinterpret_cast<const std::byte*>(input.data());
    ASSERT_TRUE(worker_.submit(now_, request).has_value());
  }

  // Sends until the worker has nothing more to send now.
  void drain() {
    std::vector<std::byte> out(1472);
    while (const auto sent = worker_.poll_transmit(now_, out)) {
      ++sent_[sent->site];
      if (silent_ == sent->site) continue;
      sites_[sent->site].handle_datagram(std::span(out).first(sent->bytes));
      while (const auto answer = sites_[sent->site].poll_transmit()) {
        worker_.handle_datagram(now_, sent->site, answer->datagram);
      }
    }
  }

  void step() {
    now_ = std::max(now_, worker_.poll_timeout().value_or(now_));
    worker_.handle_timeout(now_);
    drain();
  }

  void silence(int site) { silent_ = site; }
  std::uint64_t sent_to(std::size_t site) const { return sent_[site]; }
  bool is_done() { return worker_.in_flight() == 0; }

 private:
  static WorkerOptions worker_options() {
    WorkerOptions options;
    options.world = 1;
    options.limits.datagram_bytes_max = 1472;
    options.sites = {{.epoch = 7}, {.epoch = 7}};
    return options;
  }
  static Aggregator aggregator() {
    AggregatorOptions options;
    options.epoch = 7;
    options.slot_count = 512;
    options.world = 1;
    options.workers = {{0, 1}};
    options.datagram_bytes_max = 1472;
    return Aggregator(options);
  }

  base::Instant now_;
  Worker worker_;
  std::array<Aggregator, 2> sites_;
  std::array<std::uint64_t, 2> sent_{};
  int silent_ = -1;
};

constexpr std::uint64_t kChunks = 8000;

// The call ends with the slower site. After a few windows the worker therefore leaves the links
// that both share to that site.
TEST(WorkerSites, TheFasterOneWaitsForTheSlower) {
  const std::vector<std::int32_t> input(kChunks * 360, 1);
  WorkerOfTwoSites rank;
  rank.silence(0);
  rank.call(input);
  rank.drain();
  EXPECT_GT(rank.sent_to(1), 2 * rank.sent_to(0)) << "a short pause of one stops the other";
  EXPECT_LT(rank.sent_to(1), kChunks / 4);

  rank.silence(-1);
  for (int i = 0; i < 1000 && !rank.is_done(); ++i) rank.step();
  EXPECT_TRUE(rank.is_done());
  EXPECT_GE(rank.sent_to(1), kChunks / 2);
}

}  // namespace
}  // namespace infold::core
