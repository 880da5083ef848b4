// SPDX-License-Identifier: Apache-2.0
//
// Workers and an aggregator together on a scripted, lossy wire, as the smallest complete system.
// The simulator covers wider mixes of faults, and the exhaustive search covers all interleavings.
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "core/star_testing.h"

namespace infold::core {
namespace {

using base::Instant;
using testing::kI32Codec;
using testing::Star;
using testing::sum_of;

class StarSum : public ::testing::TestWithParam<double> {};

TEST_P(StarSum, EveryWorkerGetsTheExactSum) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    constexpr std::uint16_t kWorld = 3;
    Star star(kWorld, GetParam(), seed);
    std::vector<std::vector<std::int32_t>> small(kWorld), large(kWorld);
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
      for (int i = 0; i < 1000; ++i) large[rank].push_back(i * 1000 + rank);
      for (int i = 0; i < 40; ++i) small[rank].push_back(i + rank * 100);
      ASSERT_TRUE(star.worker(rank).submit(star.now(), sum_of(large[rank])));
      ASSERT_TRUE(star.worker(rank).submit(star.now(), sum_of(small[rank])));
    }
    ASSERT_TRUE(star.run([&] { return star.events().size() == 2 * kWorld; })) << "seed " << seed;
    for (const Event& event : star.events()) {
      EXPECT_FALSE(event.failure.has_value());
      EXPECT_EQ(event.ranks_summed, kWorld);
    }
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
      for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(large[rank][static_cast<std::size_t>(i)], i * 3000 + 3);
      for (int i = 0; i < 40; ++i) ASSERT_EQ(small[rank][static_cast<std::size_t>(i)], i * 3 + 300);
    }
  }
}

// The ranks learn the sizes at different moments between their calls.
TEST_P(StarSum, WhatHasItsSizeLaterKeepsItsPlaceInTheOrderOfCalls) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    constexpr std::uint16_t kWorld = 3;
    Star star(kWorld, GetParam(), seed);
    std::vector<std::vector<std::int32_t>> some(kWorld), none(kWorld), large(kWorld), small(kWorld);
    std::vector<TransferId> ids(2 * kWorld);
    const auto submit = [&](std::uint16_t rank, std::vector<std::int32_t>& tensor, bool later) {
      TransferRequest request = sum_of(tensor);
      request.sized_later = later;
      const auto id = star.worker(rank).submit(star.now(), request);
      EXPECT_TRUE(id);
      return *id;
    };
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
      for (int i = 0; i < 1000; ++i) {
        some[rank].push_back(i + rank);
        none[rank].push_back(rank);
        large[rank].push_back(i * 1000 + rank);
      }
      small[rank].assign(40, rank);
      ids[2 * rank] = submit(rank, some[rank], true);
      if (rank == 0) star.worker(rank).set_size(ids[0], 700);
      ids[2 * rank + 1] = submit(rank, none[rank], true);
      submit(rank, large[rank], false);
      if (rank < 2) star.worker(rank).set_size(ids[2 * rank + 1], 0);
      submit(rank, small[rank], false);
    }
    // The small tensors are done, and the empty ones of two ranks, which know that they have
    // nothing to sum.
    ASSERT_TRUE(star.run([&] { return star.events().size() == kWorld + 2; })) << "seed " << seed;
    EXPECT_FALSE(star.run([&] { return star.events().size() > kWorld + 2; }, base::seconds(3)))
        << "what comes behind a size that is not known has to wait";
    for (std::uint16_t rank = 1; rank < kWorld; ++rank) {
      star.worker(rank).set_size(ids[2 * rank], 700);
    }
    star.worker(2).set_size(ids[5], 0);
    ASSERT_TRUE(star.run([&] { return star.events().size() == 4 * kWorld; })) << "seed " << seed;
    for (const Event& event : star.events()) EXPECT_FALSE(event.failure.has_value());
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
      for (int i = 0; i < 1000; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(some[rank][at], i < 700 ? 3 * i + 3 : i + rank);
        ASSERT_EQ(none[rank][at], rank);
        ASSERT_EQ(large[rank][at], i * 3000 + 3);
      }
      EXPECT_EQ(small[rank], std::vector<std::int32_t>(40, 3));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Loss, StarSum, ::testing::Values(0.0, 0.01, 0.1, 0.3));

// A worker in a job of one rank, whose aggregator answers each round after a millisecond.
class Echo {
 public:
  static constexpr base::Duration kRoundTrip = base::milliseconds(1);

  Echo() : worker_(worker_options()), aggregator_(aggregator_options()) {}

  Worker& worker() { return worker_; }
  Instant now() const { return now_; }

  // Sends everything that may be sent, and takes the first `taken` answers.
  void round(std::size_t taken) {
    std::vector<std::byte> out(1472);
    while (const auto transmit = worker_.poll_transmit(now_, out)) {
      aggregator_.handle_datagram(std::span(out).first(transmit->bytes));
      while (const auto answer = aggregator_.poll_transmit()) {
        answers_.emplace_back(answer->datagram.begin(), answer->datagram.end());
      }
    }
    now_ = now_ + kRoundTrip;
    for (; taken > 0 && !answers_.empty(); --taken, answers_.pop_front()) {
      worker_.expect(0, answers_.front());
      worker_.handle_datagram(now_, 0, answers_.front());
    }
  }

 private:
  static WorkerOptions worker_options() {
    WorkerOptions options;
    options.world = 1;
    options.limits.datagram_bytes_max = 1472;
    options.limits.elements_max = 32;
    options.sites = {{.epoch = 7}};
    options.small_slots = 2;
    options.bulk_slots = 448;
    return options;
  }
  static AggregatorOptions aggregator_options() {
    AggregatorOptions options;
    options.epoch = 7;
    options.slot_count = 450;
    options.world = 1;
    options.workers.push_back({0, 1});
    return options;
  }

  Worker worker_;
  Aggregator aggregator_;
  std::deque<std::vector<std::byte>> answers_;
  Instant now_;
};

TEST(Machines, AWorkerIsPatientOnlyInTheMiddleOfALargeTensor) {
  Echo echo;
  std::vector<std::int32_t> large(32 * 140), small(8);
  EXPECT_EQ(echo.worker().patience(), base::Duration{});
  ASSERT_TRUE(echo.worker().submit(echo.now(), sum_of(large)));
  echo.round(8);
  EXPECT_GT(echo.worker().patience(), base::Duration{});
  EXPECT_LE(echo.worker().patience(), Echo::kRoundTrip);

  ASSERT_TRUE(echo.worker().submit(echo.now(), sum_of(small)));
  echo.round(0);
  EXPECT_EQ(echo.worker().patience(), base::Duration{}) << "a small tensor waits";
  echo.round(100);
  echo.round(4);
  EXPECT_GT(echo.worker().patience(), base::Duration{});

  while (echo.worker().patience() > base::Duration{}) echo.round(1);
  EXPECT_EQ(echo.worker().counters().sent_data, 141U) << "something was left to send";
  EXPECT_GT(echo.worker().in_flight(), 0U);
}

// A tensor without elements needs no codec, but still has its place in the order of calls.
TEST(Machines, AWorkerExpectsNothingOfATensorWithoutElements) {
  Echo echo;
  std::vector<std::int32_t> tensor(8);
  TransferRequest nothing = sum_of(tensor);
  nothing.elements = 0;
  nothing.codec = nullptr;
  ASSERT_TRUE(echo.worker().submit(echo.now(), nothing));
  echo.round(1);
  EXPECT_TRUE(echo.worker().poll_event().has_value());
}

TEST(Machines, AWorkerIsNotPatientWhenItsWindowCannotGrow) {
  Echo echo;
  std::vector<std::int32_t> large(32 * 1000);
  ASSERT_TRUE(echo.worker().submit(echo.now(), sum_of(large)));
  echo.round(8);
  EXPECT_GT(echo.worker().patience(), base::Duration{});
  for (int rounds = 0; rounds < 4; ++rounds) echo.round(200);
  echo.round(1);
  EXPECT_EQ(echo.worker().patience(), base::Duration{});
}

}  // namespace
}  // namespace infold::core
