// SPDX-License-Identifier: Apache-2.0
//
// What a worker says of a job's end, and when, to an aggregator below another one.
#include <vector>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"

namespace infold::core {
namespace {

using base::Instant;

Instant at(int ms) { return Instant{} + base::milliseconds(ms); }

constexpr Abort kCancelled = {AbortReason::cancelled, 1, 1, {}, {}};

// Rank 0 of two at the leaf of a tree. Its parent is as far away as the test wants.
class WorkerAtLeaf {
 public:
  WorkerAtLeaf() : worker_(worker_options()), leaf_(leaf_options()) {}

  // The leaf learns of the end, from somebody else.
  void end_at_leaf(Instant now) {
    leaf_.end(kCancelled);
    hear(now);
  }

  // The parent's word that the root knows.
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

  // How many packets the worker has to send, each of which the leaf gets.
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

// Every worker told the leaf at once. It passed each one's word on, and each answer on to all.
TEST(WorkerEnd, IsNotSaidAtOnceToTheAggregatorThatSaidIt) {
  WorkerAtLeaf rank;
  rank.end_at_leaf(at(0));
  ASSERT_TRUE(rank.worker().failure().has_value());
  EXPECT_EQ(rank.send(at(0)), 0U);
  rank.answer_from_root(at(1));
  EXPECT_FALSE(rank.worker().poll_timeout().has_value());
  EXPECT_EQ(rank.send(at(1'000)), 0U);
}

// The leaf's own word to its parent may be lost, and it has no timer.
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

// Nobody has told the leaf yet.
TEST(WorkerEnd, IsSaidAtOnceByTheRankThatEndsTheJob) {
  WorkerAtLeaf rank;
  rank.worker().cancel(at(0));
  EXPECT_EQ(rank.send(at(0)), 1U);
}

}  // namespace
}  // namespace infold::core
