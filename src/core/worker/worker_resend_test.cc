// SPDX-License-Identifier: Apache-2.0
//
// What a worker asks about, and when: while another rank is late, and when a repeated contribution
// is lost as well.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core {
namespace {

using base::Instant;

bool encode(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*,
            std::byte*, std::byte* elements) {
  std::memcpy(elements, tensor + range.first * 4, range.elements * std::size_t{4});
  return false;
}

void decode(void*, std::byte*, ChunkRange, const TensorCodec::Received&) {}

constexpr TensorCodec kCodec = {4, encode, decode};

constexpr std::int32_t kInput = 1;

WorkerOptions worker_options(std::uint16_t rank) {
  WorkerOptions options;
  options.rank = rank;
  options.world = 2;
  options.limits.datagram_bytes_max = 1472;
  options.sites = {{.worker = static_cast<std::uint8_t>(rank), .epoch = 7}};
  return options;
}

AggregatorOptions aggregator_options() {
  AggregatorOptions options;
  options.epoch = 7;
  options.slot_count = 512;
  options.world = 2;
  options.workers = {{0, 1}, {1, 1}};
  options.datagram_bytes_max = 1472;
  return options;
}

// Submits a sum of one element.
void call(Worker& worker, Instant now) {
  TransferRequest request;
  request.layout = {WireFormat::i32, DataType::i32};
  request.elements = 1;
  request.codec = &kCodec;
  request.input = reinterpret_cast<const std::byte*>(&kInput);
  ASSERT_TRUE(worker.submit(now, request).has_value());
}

// Rank 0 of two. Its packets take no time, and rank 1 is late for the whole test.
class LonelyWorker {
 public:
  LonelyWorker() : worker_(worker_options(0)), aggregator_(aggregator_options()) {}

  void call() { core::call(worker_, now_); }

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
  Instant now_;
  Worker worker_;
  Aggregator aggregator_;
  std::uint64_t sends_ = 0;
};

// In the past the worker asked about its chunks in turn and doubled its wait each time, because the
// answers said that rank 1 was late. It asked about its own lost contribution last.
TEST(WorkerResend, ALateWorkerHidesNoLostContribution) {
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
TEST(WorkerResend, ALateWorkerIsAskedAboutEverMoreRarely) {
  LonelyWorker rank;
  for (int i = 0; i < 14; ++i) rank.call();
  while (rank.now() < Instant{} + base::seconds(20)) rank.step(~std::uint64_t{0});
  EXPECT_LT(rank.counters().sent_query + rank.counters().resent_timeout, 150U);
}

// Rank 0 of two, whose aggregator already has rank 1's contributions to `calls` calls. The test
// decides when answers come.
class WorkerWithOther {
 public:
  explicit WorkerWithOther(int calls, const WorkerOptions& options = worker_options(0))
      : worker_(options), aggregator_(aggregator_options()) {
    Worker other(worker_options(1));
    for (int i = 0; i < calls; ++i) core::call(other, {});
    std::vector<std::byte> out(1472);
    while (const auto sent = other.poll_transmit({}, out)) {
      aggregator_.handle_datagram(std::span(out).first(sent->bytes));
    }
  }

  void call(Instant now) { core::call(worker_, now); }

  // Loses all packets that the worker sends now.
  void lose(Instant now) {
    std::vector<std::byte> out(1472);
    while (worker_.poll_transmit(now, out)) {
    }
  }

  // Delivers all packets that the worker sends now to the aggregator.
  void send(Instant now) {
    std::vector<std::byte> out(1472);
    while (const auto sent = worker_.poll_transmit(now, out)) {
      aggregator_.handle_datagram(std::span(out).first(sent->bytes));
      while (const auto answer = aggregator_.poll_transmit()) {
        if (answer->worker != 0) continue;
        answers_.emplace_back(answer->datagram.begin(), answer->datagram.end());
      }
    }
  }

  // Delivers the oldest answer that the worker has not had.
  void answer(Instant now) {
    ASSERT_FALSE(answers_.empty());
    last_ = answers_.front();
    answers_.erase(answers_.begin());
    worker_.handle_datagram(now, 0, last_);
  }

  // Delivers the same answer again, as happens when another rank has asked.
  void answer_again(Instant now) { worker_.handle_datagram(now, 0, last_); }

  void time_out(Instant now) { worker_.handle_timeout(now); }

  Instant deadline() const { return worker_.poll_timeout().value_or(Instant::never()); }
  const WorkerCounters& counters() const { return worker_.counters(); }

 private:
  Worker worker_;
  Aggregator aggregator_;
  std::vector<std::vector<std::byte>> answers_;
  std::vector<std::byte> last_;
};

Instant at(int ms) { return Instant{} + base::milliseconds(ms); }

// In the past the worker counted the two sends that an aggregator had answered as unanswered. It
// therefore waited for twice the timeout, and the job beside it filled the link meanwhile.
TEST(WorkerResend, AContributionLostTwiceIsAskedAboutAsSoonAsTheFirstTime) {
  WorkerWithOther rank(3);
  rank.call(at(0));
  rank.lose(at(0));
  rank.call(at(1));
  rank.lose(at(1));
  rank.call(at(2));
  rank.send(at(2));
  rank.answer(at(3));  // the third call's result has overtaken both
  rank.send(at(3));
  ASSERT_EQ(rank.counters().asked_overtaken, 2U);
  rank.answer(at(4));  // the aggregator lacks the first call's contribution
  rank.lose(at(4));
  rank.answer(at(5));  // and the second call's
  rank.send(at(5));
  ASSERT_EQ(rank.counters().resent_asked, 2U);
  rank.answer(at(6));  // the second call's result has overtaken the first one's second send
  rank.send(at(6));
  EXPECT_EQ(rank.counters().asked_overtaken, 3U);
  EXPECT_EQ(rank.counters().sent_query, 3U);
}

// A queue makes the round trip a hundred times as long as the first sample. In the past each result
// that came back ended the backoff, so that the worker asked about one chunk after the other every
// fraction of a millisecond, and each answer was a result that made the queue longer.
TEST(WorkerResend, ALongQueueIsNotAskedAboutAgainAndAgain) {
  constexpr int kCalls = 24;
  WorkerWithOther rank(kCalls + 1);
  rank.call(at(0));
  rank.send(at(0));
  rank.answer(Instant{} + base::microseconds(200));
  for (int i = 0; i < kCalls; ++i) rank.call(at(1));
  rank.send(at(1));
  int next_answer_ms = 21;
  for (int step = 0; rank.counters().received_result <= kCalls && step < 100'000; ++step) {
    const Instant now = at(1) + base::microseconds(10 * step);
    if (rank.deadline() <= now) rank.time_out(now);
    rank.send(now);
    if (now < at(next_answer_ms)) continue;
    rank.answer(now);
    next_answer_ms += 2;
  }
  EXPECT_EQ(rank.counters().received_result, kCalls + 1U);
  // The timer asks five times before the first answer comes. Its result raises a doubt about each
  // of the other chunks, but only once.
  EXPECT_LE(rank.counters().sent_query + rank.counters().resent, kCalls + 5U);
}

// In a tree all ranks hear the answer to one rank's query about a late rank. In the past the worker
// took the time until that answer as its round-trip time, and then waited at least half a second
// before it asked about a lost contribution.
TEST(WorkerResend, AnAnswerToAnotherRankIsNoRoundTrip) {
  WorkerOptions options = worker_options(0);
  options.limits.tree = true;
  WorkerWithOther rank(0, options);
  rank.call(at(0));
  rank.send(at(0));
  rank.time_out(at(20));
  rank.send(at(20));
  rank.answer(at(20));  // rank 1 is late
  ASSERT_EQ(rank.counters().received_pending, 1U);
  rank.answer_again(at(1'000));
  rank.call(at(1'000));
  rank.lose(at(1'000));
  rank.time_out(at(1'000));
  rank.lose(at(1'000));
  ASSERT_EQ(rank.counters().sent_query + rank.counters().resent_timeout, 2U);
  EXPECT_LE((rank.deadline() - at(1'000)).ns, 25'000'000);
}

// In a tree a result names the branch that completed it at the root. In the past the worker with
// the same number took its wait for that branch as its round-trip time.
TEST(WorkerResend, AResultFromTheRootSaysNotThatNobodyWasLater) {
  WorkerOptions options = worker_options(0);
  options.limits.tree = true;
  WorkerWithOther rank(1, options);
  rank.call(at(0));
  rank.send(at(0));
  rank.answer(at(1'000));
  ASSERT_EQ(rank.counters().received_result, 1U);
  rank.call(at(1'000));
  rank.lose(at(1'000));
  EXPECT_LE((rank.deadline() - at(1'000)).ns, 25'000'000);
}

// The path takes 13 ms, so the worker queries every chunk after the first timeout of 10 ms, and the
// answer comes 2 or 3 ms after the query. In the past it took no such time as a sample, because the
// path could have been shorter, and queried every chunk of the job.
TEST(WorkerResend, APathLongerThanTheFirstTimeoutIsMeasured) {
  constexpr int kCalls = 40;
  Worker rank(worker_options(0));
  Worker other(worker_options(1));
  Aggregator aggregator(aggregator_options());
  std::vector<std::byte> out(1472);
  for (int i = 0; i < kCalls; ++i) {
    const Instant sent_at = at(100 * i);
    const Instant back_at = sent_at + base::milliseconds(13);
    std::vector<std::byte> result;
    for (Worker* const each : {&other, &rank}) {
      call(*each, sent_at);
      while (const auto sent = each->poll_transmit(sent_at, out)) {
        aggregator.handle_datagram(std::span(out).first(sent->bytes));
      }
    }
    while (const auto answer = aggregator.poll_transmit()) {
      ASSERT_EQ(answer->to, Aggregator::To::all_workers);
      other.handle_datagram(sent_at, 0, answer->datagram);
      result.assign(answer->datagram.begin(), answer->datagram.end());
    }
    while (const auto due = rank.poll_timeout()) {
      if (*due >= back_at) break;
      rank.handle_timeout(*due);
      while (rank.poll_transmit(*due, out)) {
      }
    }
    rank.handle_datagram(back_at, 0, result);
  }
  EXPECT_EQ(rank.counters().received_result, std::uint64_t{kCalls});
  EXPECT_GE(rank.counters().sent_query, 32U) << "one answer of unclear origin means little";
  EXPECT_LE(rank.counters().sent_query, 34U);
}

}  // namespace
}  // namespace infold::core
