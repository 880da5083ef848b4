// SPDX-License-Identifier: Apache-2.0
//
// What a worker tells an aggregator below another one about the end of a job, and when.
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core {
namespace {

using base::Instant;

Instant at(int ms) { return Instant{} + base::milliseconds(ms); }

constexpr Abort kCancelled = {AbortReason::cancelled, 1, 1, {}, {}};

// Rank 0 of two at the leaf of a tree. The test decides when the leaf's parent answers.
class WorkerAtLeaf {
 public:
  WorkerAtLeaf() : worker_(worker_options()), leaf_(leaf_options()) {}

  // The leaf hears of the end from another rank.
  void end_at_leaf(Instant now) {
    leaf_.end(kCancelled);
    hear(now);
  }

  // The parent tells the leaf that the root knows.
  void answer_from_root(Instant now) {
    AggregatorOptions options = leaf_options();
    options.parent_worker = {};
    Aggregator root(options);
    root.end(kCancelled);
    const auto told = root.poll_transmit();
    ASSERT_TRUE(told.has_value());
    leaf_.handle_datagram(told->datagram, {.side = Source::Side::above, .worker = {}});
    hear(now);
  }

  // Delivers all packets that the worker sends to the leaf, and returns their number.
  std::size_t send(Instant now) {
    std::size_t count = 0;
    std::vector<std::byte> out(1472);
    while (const auto sent = worker_.poll_transmit(now, out)) {
      leaf_.handle_datagram(std::span(out).first(sent->bytes));
      ++count;
    }
    return count;
  }

  Worker& worker() { return worker_; }

 private:
  void hear(Instant now) {
    while (const auto told = leaf_.poll_transmit()) {
      if (told->to != Aggregator::To::parent) worker_.handle_datagram(now, 0, told->datagram);
    }
  }

  static WorkerOptions worker_options() {
    WorkerOptions options;
    options.world = 2;
    options.limits = {.datagram_bytes_max = 1472, .tree = true};
    options.sites = {{.worker = 0, .epoch = 7}};
    return options;
  }
  static AggregatorOptions leaf_options() {
    AggregatorOptions options;
    options.epoch = 7;
    options.slot_count = 512;
    options.world = 2;
    options.workers = {{0, 1}, {1, 1}};
    options.parent_worker = 0;
    options.datagram_bytes_max = 1472;
    return options;
  }

  Worker worker_;
  Aggregator leaf_;
};

// In the past every worker told the leaf at once. The leaf then passed on each message, and passed
// each answer on to all workers.
TEST(WorkerEnd, IsNotSaidAtOnceToTheAggregatorThatSaidIt) {
  WorkerAtLeaf rank;
  rank.end_at_leaf(at(0));
  ASSERT_TRUE(rank.worker().failure().has_value());
  EXPECT_EQ(rank.send(at(0)), 0U);
  rank.answer_from_root(at(1));
  EXPECT_FALSE(rank.worker().poll_timeout().has_value());
  EXPECT_EQ(rank.send(at(1'000)), 0U);
}

// The leaf's own message to its parent may be lost, and the leaf has no timer.
TEST(WorkerEnd, IsSaidAfterATimeOutWhileTheRootDoesNotKnow) {
  WorkerAtLeaf rank;
  rank.end_at_leaf(at(0));
  const auto due = rank.worker().poll_timeout();
  ASSERT_TRUE(due.has_value());
  EXPECT_GE(due->ns, at(10).ns);
  EXPECT_LE(due->ns, at(12).ns);
  rank.worker().handle_timeout(*due);
  EXPECT_EQ(rank.send(*due), 1U);
}

// Nobody has told the leaf about the end yet.
TEST(WorkerEnd, IsSaidAtOnceByTheRankThatEndsTheJob) {
  WorkerAtLeaf rank;
  rank.worker().cancel(at(0));
  EXPECT_EQ(rank.send(at(0)), 1U);
}

}  // namespace
}  // namespace infold::core
