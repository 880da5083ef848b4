// SPDX-License-Identifier: Apache-2.0
//
// Measures the shares of the links that two jobs get, from the first lull after the second job's
// start. The tests also find needless retransmissions: a worker that mistakes its whole round trip
// for a loss sends queries for every chunk, and these fill the link.
#include <gtest/gtest.h>

#include "study/sim/two_jobs.h"

namespace infold::sim {
namespace {

constexpr std::uint64_t kBucket = 6'553'600;  // 25 MiB
constexpr std::uint64_t kLarge = 4 * kBucket;

struct Shares {
  double all = 0;
  double least = 1;  // lowest share over any ten steps in a row
  double most = 0;
  double link = 0;  // share of the link that both use together
};

// Returns the shares of the first job, from `start` on.
Shares shares(const SharedLinks& plan, base::Duration start, base::Duration step, int steps) {
  JobsOnSharedLinks jobs(plan);
  jobs.run_until(base::Instant{} + start);
  std::vector<std::array<double, 2>> passed;
  for (int i = 0; i <= steps; ++i) {
    jobs.run_until(base::Instant{} + start + step * i);
    passed.push_back({static_cast<double>(jobs.passed(0)), static_cast<double>(jobs.passed(1))});
  }
  const auto share = [&](std::size_t from, std::size_t to) {
    const double first = passed[to][0] - passed[from][0];
    return first / (first + passed[to][1] - passed[from][1]);
  };
  Shares result;
  result.all = share(0, passed.size() - 1);
  for (std::size_t from = 0; from + 10 < passed.size(); ++from) {
    result.least = std::min(result.least, share(from, from + 10));
    result.most = std::max(result.most, share(from, from + 10));
  }
  const double frames = passed.back()[0] + passed.back()[1] - passed.front()[0] - passed.front()[1];
  result.link = frames * static_cast<double>(kFrameBytes) * 8 * 1e9 /
                static_cast<double>(plan.path.bits_per_second) /
                static_cast<double>((step * steps).ns);
  return result;
}

using Path = std::tuple<std::int64_t, std::int64_t>;  // round trip and jitter in us

class Shares100M : public testing::TestWithParam<Path> {
 protected:
  // Measures thirty seconds, beginning three seconds after the second job's start.
  void expect_even(std::vector<SharedLinks::JobPlan> jobs) {
    const auto [round_trip_us, jitter_us] = GetParam();
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const SharedLinks plan = {.path = {100'000'000, base::microseconds(round_trip_us)},
                                .jobs = jobs,
                                .jitter_max = base::microseconds(jitter_us),
                                .seed = seed};
      const Shares got = shares(plan, jobs[1].start + base::seconds(3), base::seconds(1), 30);
      EXPECT_GE(got.all, 0.45) << "seed " << seed;
      EXPECT_LE(got.all, 0.55) << "seed " << seed;
      EXPECT_GE(got.least, 0.43) << "seed " << seed;
      EXPECT_LE(got.most, 0.57) << "seed " << seed;
      EXPECT_GE(got.link, 0.95) << "seed " << seed;
    }
  }
};

TEST_P(Shares100M, TwoOfShortTensors) { expect_even({{4, kBucket, {}}, {4, kBucket, {}}}); }
TEST_P(Shares100M, ALateOneOfLongTensors) {
  expect_even({{4, kLarge, {}}, {4, kLarge, base::seconds(10)}});
}
TEST_P(Shares100M, FourRanksBesideTwo) {
  expect_even({{4, kLarge, {}}, {2, kLarge, base::milliseconds(100)}});
}

INSTANTIATE_TEST_SUITE_P(Paths, Shares100M,
                         testing::Values(Path{10, 0}, Path{100, 0}, Path{100, 50}, Path{300, 300},
                                         Path{1'000, 0}),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "us" +
                                  std::to_string(std::get<1>(each.param)) + "jitter";
                         });

// The slots limit a window if fewer of them exist than fill the path and its queue. At 1 ms this is
// just the case, and half a second has few rounds.
TEST(Shares10G, AreEven) {
  for (const std::int64_t round_trip_us : {10, 100, 1'000}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const SharedLinks plan = {.path = {10'000'000'000, base::microseconds(round_trip_us)},
                                .jobs = {{4, kLarge, {}}, {4, kLarge, base::milliseconds(100)}},
                                .jitter_max = {},
                                .seed = seed};
      const Shares got = shares(plan, base::milliseconds(150), base::milliseconds(20), 20);
      const double allowed = round_trip_us < 1'000 ? 0.02 : 0.1;
      EXPECT_NEAR(got.all, 0.5, allowed) << round_trip_us << " us, seed " << seed;
      EXPECT_GE(got.link, 0.95) << round_trip_us << " us, seed " << seed;
    }
  }
}

}  // namespace
}  // namespace infold::sim
