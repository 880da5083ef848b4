// SPDX-License-Identifier: Apache-2.0
//
// Tests that ranks choose alike even if they learn at different moments, and that they choose what
// was found to be faster.
#include "sparse/layout_choice.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::sparse {
namespace {

using base::microseconds;

constexpr TensorKind kLong = {{core::WireFormat::bfp32, core::DataType::f32}, {}, 1 << 20};
constexpr TensorKind kShort = {{core::WireFormat::bfp32, core::DataType::f32}, {}, 8192};
constexpr std::uint64_t kBlocks = 1000;

// One rank, each of whose calls ends before the next begins.
class Alone {
 public:
  explicit Alone(TensorKind kind) : kind_(kind) {}

  std::uint64_t union_blocks = kBlocks / 10;  // out of kBlocks
  std::int64_t joining_us = 100, whole_us = 300, dense_us = 1000;

  // Makes a call and returns whether it was sparse.
  bool call() {
    const LayoutChoice::Choice choice = choice_.next(kind_);
    LayoutChoice::Outcome outcome;
    outcome.was_alone = true;
    outcome.whole = microseconds(choice.is_sparse ? whole_us : dense_us);
    if (choice.is_sparse) {
      outcome.blocks = kBlocks;
      outcome.union_blocks = union_blocks;
      outcome.joining = microseconds(joining_us);
      outcome.opinions = choice.opinion;
    }
    choice_.done(choice.number, outcome);
    return choice.is_sparse;
  }
  // Makes calls and returns how many of them were sparse.
  std::uint64_t calls(std::uint64_t count) {
    std::uint64_t sparse = 0;
    for (std::uint64_t i = 0; i < count; ++i) sparse += call() ? 1 : 0;
    return sparse;
  }

 private:
  TensorKind kind_;
  LayoutChoice choice_;
};

TEST(LayoutChoice, LongTensorsLeaveOutTheirZerosFromTheStart) {
  Alone rank(kLong);
  EXPECT_EQ(rank.calls(1000), 1000U);
}

TEST(LayoutChoice, WhereNearlyAllIsPresentItLooksNowAndThen) {
  Alone rank(kLong);
  rank.union_blocks = kBlocks - 10;
  EXPECT_EQ(rank.calls(64), 64U) << "nothing is known yet";
  EXPECT_EQ(rank.calls(6400), 100U);
}

TEST(LayoutChoice, FindsZerosThatComeLater) {
  Alone rank(kLong);
  rank.union_blocks = kBlocks;
  rank.calls(640);
  rank.union_blocks = kBlocks / 10;
  rank.calls(3 * 64);
  EXPECT_EQ(rank.calls(640), 640U);
  rank.union_blocks = kBlocks;
  rank.calls(64);
  EXPECT_EQ(rank.calls(640), 10U);
}

TEST(LayoutChoice, WhatTookLongerIsGivenUp) {
  Alone rank(kLong);
  rank.union_blocks = kBlocks * 9 / 10;
  rank.joining_us = 400;
  rank.whole_us = 1300;  // 900 for 9/10 of the blocks, so a dense sum would have taken 1000
  rank.calls(3 * 64);
  EXPECT_EQ(rank.calls(6400), 100U);
  // The path has become slower, and leaving out a tenth now saves more than the round trip costs.
  rank.whole_us = 9400;
  rank.dense_us = 10'000;
  rank.calls(3 * 64);
  EXPECT_EQ(rank.calls(640), 640U);
}

TEST(LayoutChoice, ShortTensorsAreSentAsTheyAreUntilItIsKnownToPay) {
  Alone rank(kShort);
  rank.whole_us = 900;
  EXPECT_EQ(rank.calls(72), 4U);
  EXPECT_EQ(rank.calls(640), 640U);
  Alone other(kShort);
  other.whole_us = 1100;  // slower than dense_us, though the share suggests otherwise
  EXPECT_EQ(other.calls(72), 4U);
  EXPECT_EQ(other.calls(640), 10U);
  EXPECT_FALSE(LayoutChoice::is_long_enough({kShort.layout, {}, 4095}));
  EXPECT_TRUE(LayoutChoice::is_long_enough({kShort.layout, {}, 4096}));
}

TEST(LayoutChoice, OneCallOfManyKindsAfterAnotherForgetsTheOldest) {
  LayoutChoice choice;
  for (std::uint64_t i = 0; i < 4 * LayoutChoice::kKindsMax; ++i) {
    const auto next = choice.next({kLong.layout, {}, kLong.elements + i});
    EXPECT_TRUE(next.is_sparse);
    choice.done(next.number, {.union_blocks = kBlocks, .blocks = kBlocks});
  }
}

// Calls of several kinds at several ranks. Each rank learns at random moments that a call is done,
// and measures random times. The opinions of all ranks are joined, as a network would do it.
class Job {
 public:
  static constexpr std::size_t kWorld = 4;

  explicit Job(std::uint64_t seed) : prng_(seed), ranks_(kWorld) {}

  void run(std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      const std::uint64_t kind = prng_.below(5);
      calls_.push_back(
          {{kLong.layout, {}, std::uint64_t{4096} << (2 * kind)}, prng_.below(2) == 0});
    }
    while (!::testing::Test::HasFatalFailure() &&
           std::any_of(ranks_.begin(), ranks_.end(),
                       [&](const Rank& rank) { return rank.done < calls; })) {
      Rank& rank = ranks_[prng_.below(kWorld)];
      if (prng_.chance(0.5) && rank.begun < calls && rank.choice.is_ready()) {
        begin(rank);
      } else {
        end_some(rank);
      }
    }
  }
  std::size_t sparse_calls() const { return sparse_calls_; }
  std::size_t opinions() const { return opinions_; }

 private:
  struct Call {
    TensorKind kind;
    bool is_full = false;
    std::optional<LayoutChoice::Choice> choice;  // the choice of the first rank that made the call
    Opinions opinions = 0;
    std::size_t begun = 0;  // how many ranks have begun it
  };
  struct Rank {
    LayoutChoice choice;
    std::size_t begun = 0;
    std::size_t done = 0;
    std::vector<std::size_t> in_flight;
  };

  void begin(Rank& rank) {
    Call& call = calls_[rank.begun];
    const LayoutChoice::Choice choice = rank.choice.next(call.kind);
    ASSERT_EQ(choice.number, rank.begun);
    if (!call.choice) {
      call.choice = choice;
      sparse_calls_ += choice.is_sparse ? 1 : 0;
    }
    ASSERT_EQ(choice.is_sparse, call.choice->is_sparse) << "call " << rank.begun;
    ASSERT_EQ(choice.asks, call.choice->asks) << "call " << rank.begun;
    call.opinions |= choice.opinion;
    ++call.begun;
    rank.in_flight.push_back(rank.begun++);
  }

  void end_some(Rank& rank) {
    if (rank.in_flight.empty()) return;
    const std::size_t at = prng_.below(rank.in_flight.size());
    const std::size_t number = rank.in_flight[at];
    const Call& call = calls_[number];
    if (call.begun < kWorld) return;
    LayoutChoice::Outcome outcome;
    outcome.was_alone = prng_.chance(0.7);
    outcome.whole = microseconds(static_cast<std::int64_t>(prng_.below(1000)));
    if (call.choice->is_sparse) {
      outcome.blocks = kBlocks;
      outcome.union_blocks = call.is_full ? kBlocks : kBlocks / 2;
      outcome.opinions = call.opinions;
      opinions_ += call.opinions != 0 ? 1 : 0;
    }
    rank.choice.done(number, outcome);
    rank.in_flight.erase(rank.in_flight.begin() + static_cast<std::ptrdiff_t>(at));
    ++rank.done;
  }

  base::Prng prng_;
  std::vector<Rank> ranks_;
  std::vector<Call> calls_;
  std::size_t sparse_calls_ = 0;
  std::size_t opinions_ = 0;
};

TEST(LayoutChoice, RanksThatLearnAtDifferentMomentsChooseAlike) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Job job(seed);
    job.run(3000);
    if (HasFatalFailure()) return;
    EXPECT_GT(job.sparse_calls(), 100U);
    EXPECT_LT(job.sparse_calls(), 2900U);
    EXPECT_GT(job.opinions(), 20U);
  }
}

}  // namespace
}  // namespace infold::sparse
