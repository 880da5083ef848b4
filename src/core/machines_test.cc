// SPDX-License-Identifier: Apache-2.0
//
// Workers and aggregators together on a scripted, lossy wire: the smallest whole. Wider mixes of
// faults are the simulator's, all interleavings the exhaustive search's.
#include <cstring>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/aggregator.h"
#include "core/worker.h"

namespace infold::core {
namespace {

using base::Instant;

bool encode_i32(const std::byte* tensor, ChunkRange range, const std::uint16_t*, std::byte*,
                std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, range.elements * std::size_t{4});
  return false;
}

void decode_i32(std::byte* tensor, ChunkRange range, const TensorCodec::Received& received) {
  std::memcpy(tensor + range.first * 4, received.elements, range.elements * std::size_t{4});
}

constexpr TensorCodec kCodec = {4, encode_i32, decode_i32};

// One aggregator, a few workers, a wire that loses packets by a seed and delays none.
class Star {
 public:
  Star(std::uint16_t world, double loss, std::uint64_t seed) : loss_(loss), prng_(seed) {
    AggregatorOptions aggregator;
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

  // Moves time to the next deadline until `done` or the limit; returns whether it was done.
  template <typename Done>
  bool run(Done done, base::Duration limit = base::seconds(60)) {
    const Instant end = now_ + limit;
    while (!done() && now_ < end) {
      exchange();
      if (done()) return true;
      Instant next = end;
      for (Worker& worker : workers_) next = std::min(next, worker.poll_timeout().value_or(end));
      now_ = std::max(now_ + base::nanoseconds(1000), next);
      for (Worker& worker : workers_) worker.handle_timeout(now_);
      collect();
    }
    return done();
  }
  Instant now() const { return now_; }

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
          workers_[rank].handle_datagram(now_, 0, transmit->datagram);
        }
      }
    }
  }

  double loss_;
  base::Prng prng_;
  Instant now_;
  std::vector<Worker> workers_;
  std::optional<Aggregator> aggregator_;
  std::vector<Event> events_;
};

TransferRequest sum_of(std::vector<std::int32_t>& tensor) {
  TransferRequest request;
  request.layout = {WireFormat::i32, DataType::i32};
  request.elements = tensor.size();
  request.codec = &kCodec;
  request.input = reinterpret_cast<const std::byte*>(tensor.data());
  request.output = reinterpret_cast<std::byte*>(tensor.data());
  return request;
}

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
    // The small ones, and those of two ranks that know that they have nothing to sum.
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

TEST(Machines, AnotherSizeAtOneRankIsAMismatch) {
  Star star(2, 0.0, 1);
  std::vector<std::vector<std::int32_t>> tensors(2, std::vector<std::int32_t>(1000));
  for (std::uint16_t rank = 0; rank < 2; ++rank) {
    TransferRequest request = sum_of(tensors[rank]);
    request.sized_later = true;
    const auto id = star.worker(rank).submit(star.now(), request);
    ASSERT_TRUE(id);
    star.worker(rank).set_size(*id, 64U + 32U * rank);
  }
  ASSERT_TRUE(star.run([&] { return star.events().size() == 2; }));
  for (const Event& event : star.events()) {
    ASSERT_TRUE(event.failure.has_value());
    EXPECT_EQ(event.failure->error.code, base::Code::mismatch);
    EXPECT_STREQ(event.failure->field, "size");
  }
}

TEST(Machines, ASizeThatNeverComesEndsAtTheDeadline) {
  Star star(2, 0.0, 1);
  std::vector<std::vector<std::int32_t>> tensors(2, std::vector<std::int32_t>(1000));
  for (std::uint16_t rank = 0; rank < 2; ++rank) {
    TransferRequest request = sum_of(tensors[rank]);
    request.sized_later = true;
    request.deadline = star.now() + base::seconds(1);
    ASSERT_TRUE(star.worker(rank).submit(star.now(), request));
  }
  ASSERT_TRUE(star.run([&] { return star.events().size() == 2; }, base::seconds(5)));
  for (const Event& event : star.events()) {
    ASSERT_TRUE(event.failure.has_value());
    EXPECT_EQ(event.failure->error.code, base::Code::deadline_exceeded);
  }
}

INSTANTIATE_TEST_SUITE_P(Loss, StarSum, ::testing::Values(0.0, 0.01, 0.1, 0.3));

TEST(Machines, DisagreementNamesRankAndFieldToAll) {
  Star star(3, 0.0, 1);
  std::vector<std::int32_t> ten(10), eleven(11);
  ASSERT_TRUE(star.worker(0).submit(star.now(), sum_of(ten)));
  ASSERT_TRUE(star.worker(1).submit(star.now(), sum_of(eleven)));
  ASSERT_TRUE(star.worker(2).submit(star.now(), sum_of(ten)));
  ASSERT_TRUE(star.run([&] { return star.events().size() == 3; }));
  for (const Event& event : star.events()) {
    ASSERT_TRUE(event.failure.has_value());
    EXPECT_EQ(event.failure->error.code, base::Code::mismatch);
    EXPECT_STREQ(event.failure->field, "size");
    EXPECT_EQ(event.failure->rank, 1);
    EXPECT_EQ(event.failure->rank_value, 11);
    EXPECT_EQ(event.failure->other_value, 10);
  }
}

TEST(Machines, DeadlineNamesTheMissingRank) {
  Star star(3, 0.1, 5);
  std::vector<std::int32_t> a(10), b(10);
  TransferRequest request = sum_of(a);
  request.deadline = star.now() + base::seconds(2);
  ASSERT_TRUE(star.worker(0).submit(star.now(), request));
  ASSERT_TRUE(star.worker(2).submit(star.now(), sum_of(b)));
  ASSERT_TRUE(star.run([&] { return star.events().size() == 2; }));
  for (const Event& event : star.events()) {
    ASSERT_TRUE(event.failure.has_value());
    EXPECT_EQ(event.failure->error.code, base::Code::deadline_exceeded);
    EXPECT_EQ(event.failure->other, 1);
  }
  EXPECT_FALSE(star.worker(0).submit(star.now(), sum_of(a)).has_value());
}

// Rank 1 has made no call, rank 2 only the first of two: each deadline names whom its own call
// waits for, whatever was heard of the other call last.
TEST(Machines, DeadlineNamesTheRanksOfItsOwnCall) {
  for (const bool first_is_late : {true, false}) {
    Star star(3, 0.0, 5);
    std::vector<std::int32_t> a(5000), b(5000), small(10);
    TransferRequest first = sum_of(a), second = sum_of(small);
    (first_is_late ? first : second).deadline = star.now() + base::seconds(2);
    ASSERT_TRUE(star.worker(0).submit(star.now(), first));
    ASSERT_TRUE(star.worker(0).submit(star.now(), second));
    ASSERT_TRUE(star.worker(2).submit(star.now(), sum_of(b)));
    ASSERT_TRUE(star.run([&] { return star.worker(0).failure().has_value(); }));
    const RankRanges& missing = star.worker(0).failure()->missing;
    ASSERT_EQ(missing.count, 1U);
    EXPECT_EQ(missing.range[0], (RankRange{1, static_cast<std::uint16_t>(first_is_late ? 1 : 2)}));
  }
}

TEST(Machines, ADifferentRootIsCalledThatAtEveryRank) {
  Star star(3, 0.0, 1);
  std::vector<std::int32_t> a(10), b(10);
  TransferRequest to_0 = sum_of(a), to_2 = sum_of(b);
  to_0.collective = to_2.collective = Collective::reduce;
  to_2.root = 2;
  ASSERT_TRUE(star.worker(0).submit(star.now(), to_0));
  ASSERT_TRUE(star.worker(1).submit(star.now(), to_2));
  ASSERT_TRUE(star.run([&] { return star.events().size() == 2; }));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::optional<Failure>& failure = star.worker(rank).failure();
    ASSERT_TRUE(failure.has_value()) << rank;
    EXPECT_STREQ(failure->field, "root") << rank;
    // Rank 2 has made no such call: it cannot tell sizes from roots.
    EXPECT_EQ(failure->values_known, rank != 2);
    if (!failure->values_known) continue;
    EXPECT_EQ(failure->rank_value, failure->rank == 1 ? 2 : 0);
    EXPECT_EQ(failure->other_value, failure->rank == 1 ? 0 : 2);
  }
}

TEST(Machines, ARankThatLeftDoesNotTakeResultsFromOthers) {
  int left_early = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Star star(2, 0.3, seed);
    std::vector<std::int32_t> a(10, 1), b(10, 2);
    ASSERT_TRUE(star.worker(0).submit(star.now(), sum_of(a)));
    ASSERT_TRUE(star.worker(1).submit(star.now(), sum_of(b)));
    ASSERT_TRUE(star.run([&] { return !star.events().empty(); }));
    const std::size_t first_done = star.worker(0).in_flight() == 0 ? 0 : 1;
    if (star.events().size() == 1) ++left_early;
    star.worker(first_done).leave(star.now());
    ASSERT_TRUE(star.run([&] { return star.events().size() == 2; })) << "seed " << seed;
    EXPECT_FALSE(star.events()[1].failure.has_value()) << "seed " << seed;
  }
  EXPECT_GT(left_early, 0) << "no seed lost a result: the test has tested nothing";
}

// A worker of one rank whose aggregator answers each round after a millisecond.
class Echo {
 public:
  static constexpr base::Duration kRoundTrip = base::milliseconds(1);

  Echo() : worker_(worker_options()), aggregator_(aggregator_options()) {}

  Worker& worker() { return worker_; }
  Instant now() const { return now_; }

  // Sends all that may be sent, and takes the first `taken` answers.
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

// What has no elements needs no codec, and has a place all the same.
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
