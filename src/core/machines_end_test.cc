// SPDX-License-Identifier: Apache-2.0
//
// How calls that cannot succeed end at each worker, and what the failure names.
#include <vector>

#include <gtest/gtest.h>

#include "core/star_testing.h"

namespace infold::core {
namespace {

using testing::Star;
using testing::sum_of;

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

// Rank 1 has made no call, and rank 2 only the first of two. Each deadline names the ranks that its
// own call waits for, whatever the worker last heard about the other call.
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

TEST(Machines, DeadlineNamesNobodyWhoCameMeanwhile) {
  Star star(3, 0.0, 5);
  std::vector<std::int32_t> a(5000), b(5000), small(10), other(10);
  TransferRequest second = sum_of(small);
  second.deadline = star.now() + base::seconds(4);
  ASSERT_TRUE(star.worker(0).submit(star.now(), sum_of(a)));
  ASSERT_TRUE(star.worker(0).submit(star.now(), second));
  const base::Instant late = star.now() + base::seconds(2);
  star.run([&] { return star.now() >= late; });
  ASSERT_TRUE(star.worker(2).submit(star.now(), sum_of(b)));
  ASSERT_TRUE(star.worker(2).submit(star.now(), sum_of(other)));
  ASSERT_TRUE(star.run([&] { return star.worker(0).failure().has_value(); }));
  const RankRanges& missing = star.worker(0).failure()->missing;
  ASSERT_EQ(missing.count, 1U);
  EXPECT_EQ(missing.range[0], (RankRange{1, 1}));
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
    // Rank 2 has made no such call, so it cannot tell sizes from roots.
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

}  // namespace
}  // namespace infold::core
