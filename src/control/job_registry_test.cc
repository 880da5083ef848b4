// SPDX-License-Identifier: Apache-2.0

#include "control/job_registry.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::control {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class FakePlane final : public Plane {
 public:
  std::vector<SiteAddress> sites() const override { return {{":7700", 0}}; }
  std::uint32_t slots_total() const override { return 1000; }
  std::uint32_t datagram_bytes_max() const override { return 8972; }
  std::uint32_t elements_max() const override { return 64; }
  void start_job(const JobTerms& terms) override { started.push_back(terms); }
  void end_job(std::uint16_t, const core::Abort& abort) override { ends.push_back(abort); }
  void forget_job(std::uint16_t job) override { forgotten.push_back(job); }

  std::vector<JobTerms> started;
  std::vector<core::Abort> ends;
  std::vector<std::uint16_t> forgotten;
};

RankWords words(std::uint32_t rank, std::uint32_t world, std::string job = "job") {
  RankWords words;
  words.job = std::move(job);
  words.rank = rank;
  words.world = world;
  words.datagram_bytes_max = 1472 + rank;
  words.small_slots = 64;
  words.bulk_slots = 448;
  words.patience = std::chrono::seconds(20);
  return words;
}

class Registry : public testing::Test {
 protected:
  // All ranks of a job, each entering from a thread of its own.
  std::vector<JobRegistry::Seat> fill(std::uint32_t world, const std::string& job = "job") {
    std::vector<JobRegistry::Seat> seats(world);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      threads.emplace_back([&, rank] {
        const auto seat = registry_.enter(words(rank, world, job), {});
        ASSERT_TRUE(seat.has_value()) << seat.error().message;
        seats[rank] = *seat;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return seats;
  }

  FakePlane plane_;
  JobRegistry registry_{&plane_, 7};
};

TEST_F(Registry, SettlesTermsThatAllCanKeep) {
  const auto seats = fill(3);
  ASSERT_EQ(plane_.started.size(), 1U);
  const JobTerms& terms = registry_.terms(seats[2]);
  EXPECT_EQ(terms.world, 3U);
  EXPECT_EQ(terms.datagram_bytes_max, 1472U);
  EXPECT_EQ(terms.elements_max, 64U);
  EXPECT_EQ(terms.small_slots + terms.bulk_slots, 512);
  ASSERT_EQ(terms.sites.size(), 1U);
  EXPECT_EQ(registry_.slots_free(), 488U);
  EXPECT_EQ(plane_.started[0].epoch, terms.epoch);
}

TEST_F(Registry, FreesNameAndSlotsWhenAllHaveLeft) {
  for (int life = 0; life < 3; ++life) {
    const auto seats = fill(2);
    for (const auto& seat : seats) registry_.leave(seat, true);
    EXPECT_EQ(registry_.slots_free(), 1000U);
  }
  ASSERT_EQ(plane_.started.size(), 3U);
  EXPECT_EQ(plane_.forgotten.size(), 3U);
  EXPECT_NE(plane_.started[0].epoch, plane_.started[1].epoch);
  EXPECT_TRUE(plane_.ends.empty());
}

TEST_F(Registry, ANameInUseIsRefused) {
  fill(2);
  const auto third = registry_.enter(words(0, 2), {});
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().reason, RefusalReason::in_use);
  EXPECT_THAT(third.error().message, HasSubstr("'job' is running"));
}

TEST_F(Registry, RanksThatDisagreeAboutTheWorldAreTold) {
  std::thread first([&] {
    RankWords early = words(1, 4);
    early.patience = milliseconds(300);
    const auto seat = registry_.enter(early, {});
    ASSERT_FALSE(seat.has_value());
    EXPECT_EQ(seat.error().reason, RefusalReason::too_late);
    EXPECT_EQ(seat.error().rank, 0);
    EXPECT_THAT(seat.error().message, HasSubstr("1 of 4 ranks came; missing: rank 0, 2, 3"));
  });
  while (registry_.status().empty()) std::this_thread::yield();
  const auto second = registry_.enter(words(0, 2), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().reason, RefusalReason::mismatch);
  EXPECT_EQ(second.error().rank, 1);
  EXPECT_THAT(second.error().message, HasSubstr("rank 0 says there are 2 ranks, rank 1 says 4"));
  const auto twice = registry_.enter(words(1, 4), {});
  // Neither of the two, with 20 s of patience each, makes the first wait longer than it wants.
  EXPECT_EQ(twice.error().reason, RefusalReason::in_use);
  first.join();
  EXPECT_TRUE(registry_.status().empty()) << "a job that never began keeps its name";
}

TEST_F(Registry, SaysHowManySlotsAreLeft) {
  fill(1);
  const auto second = registry_.enter(words(0, 1, "other"), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().reason, RefusalReason::full);
  EXPECT_THAT(second.error().message, HasSubstr("has 488 of 1000 slots left"));
  EXPECT_THAT(second.error().message, HasSubstr("wants 512"));
}

TEST_F(Registry, ALostRankEndsTheJobForTheOthers) {
  std::optional<std::uint32_t> told;
  std::thread other([&] {
    EXPECT_TRUE(
        registry_.enter(words(1, 2), [&](std::optional<std::uint32_t> rank) { told = rank; }));
  });
  const auto seat = registry_.enter(words(0, 2), {});
  other.join();
  ASSERT_TRUE(seat.has_value());
  registry_.leave(*seat, false);
  EXPECT_EQ(told, 0U);
  ASSERT_EQ(plane_.ends.size(), 1U);
  EXPECT_EQ(plane_.ends[0].reason, core::AbortReason::lost);
  EXPECT_EQ(plane_.ends[0].other, 0);
}

TEST_F(Registry, StoppingTellsThoseInsideAndRefusesThoseOutside) {
  bool told = false;
  const auto seat =
      registry_.enter(words(0, 1), [&](std::optional<std::uint32_t> rank) { told = !rank; });
  ASSERT_TRUE(seat.has_value());
  registry_.stop();
  EXPECT_TRUE(told);
  EXPECT_EQ(registry_.enter(words(0, 1, "late"), {}).error().reason, RefusalReason::stopping);
}

TEST_F(Registry, ImpossibleWordsAreRefused) {
  for (const RankWords& wrong : {words(2, 2), words(0, 0), words(0, 257), words(0, 1, "")}) {
    EXPECT_EQ(registry_.enter(wrong, {}).error().reason, RefusalReason::invalid);
  }
  JobRegistry without_plane(nullptr, 1);
  const auto nobody = without_plane.enter(words(0, 1), {});
  ASSERT_FALSE(nobody.has_value());
  EXPECT_THAT(nobody.error().message, HasSubstr("nobody aggregates"));
}

}  // namespace
}  // namespace infold::control
