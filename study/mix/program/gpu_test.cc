// SPDX-License-Identifier: Apache-2.0
//
// Compares the order of a GPU's work with hand-written orders, and tests the jitter of its times.
#include "study/mix/program/gpu.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace infold::mix {
namespace {

// The microseconds of forward, backward and update identify the layer and the kind of work.
constexpr Layer kThree[] = {{100, 1, 11, 21}, {200, 2, 12, 22}, {300, 3, 13, 23}};

// Runs one piece of work. Returns its microseconds, or 0 if the GPU waits.
int work(Gpu& gpu, std::optional<std::uint32_t>* gradient = nullptr) {
  const auto time = gpu.begin();
  if (!time) return 0;
  const auto made = gpu.end();
  if (gradient != nullptr) *gradient = made;
  return static_cast<int>(time->ns / 1'000);
}

std::vector<int> works(Gpu& gpu) {
  std::vector<int> times;
  while (const int time = work(gpu)) times.push_back(time);
  return times;
}

TEST(Gpu, RunsForwardThenBackwardAndMakesGradients) {
  Gpu gpu({.layers = kThree});
  for (const int time : {1, 2, 3}) EXPECT_EQ(work(gpu), time);
  for (std::uint32_t layer = 3; layer-- > 0;) {
    std::optional<std::uint32_t> gradient;
    EXPECT_EQ(work(gpu, &gradient), static_cast<int>(11 + layer));
    EXPECT_EQ(gradient, layer);
  }
  EXPECT_EQ(work(gpu), 0) << "it waits for sums";
  EXPECT_FALSE(gpu.is_done());
}

TEST(Gpu, TheBackwardPassGoesBeforeUpdates) {
  Gpu gpu({.layers = kThree});
  for (const int time : {1, 2, 3, 13}) EXPECT_EQ(work(gpu), time);
  gpu.take_sum(2);
  EXPECT_EQ(works(gpu), (std::vector{12, 11, 23}));
  gpu.take_sum(1);
  gpu.take_sum(0);
  EXPECT_EQ(works(gpu), (std::vector{21, 22})) << "the first layers' updates go first";
  EXPECT_TRUE(gpu.is_done());
  EXPECT_EQ(gpu.worked().ns, 1'000 * (1 + 2 + 3 + 11 + 12 + 13 + 21 + 22 + 23));
}

TEST(Gpu, TheNextForwardPassWaitsForItsOwnLayerAlone) {
  Gpu gpu({.layers = kThree, .iterations = 2});
  EXPECT_EQ(works(gpu), (std::vector{1, 2, 3, 13, 12, 11}));
  gpu.take_sum(2);
  EXPECT_EQ(works(gpu), (std::vector{23})) << "nothing else to do";
  gpu.take_sum(0);
  EXPECT_EQ(works(gpu), (std::vector{21, 1})) << "layer 1 is not summed";
  gpu.take_sum(1);
  EXPECT_EQ(works(gpu), (std::vector{22, 2, 3, 13, 12, 11}));
  for (std::uint32_t layer = 0; layer < 3; ++layer) gpu.take_sum(layer);
  EXPECT_EQ(works(gpu), (std::vector{21, 22, 23})) << "no third iteration begins";
  EXPECT_TRUE(gpu.is_done());
}

TEST(Gpu, ScalesTimes) {
  Gpu gpu({.layers = kThree, .time_scale = 10});
  EXPECT_EQ(work(gpu), 10);
}

// With 6,000 pieces of work, mean 1 and sigma 2 %, the sigma of the mean is 0.03 %.
TEST(Gpu, JitterHasItsMeanAndSigmaAndItsSeed) {
  constexpr Layer kOne[] = {{1, 1e6, 1e6, 1e6}};
  const auto times_of = [&](std::uint64_t seed) {
    Gpu gpu({.layers = kOne, .iterations = 2'000, .sigma = 0.02, .seed = seed});
    std::vector<double> times;
    while (!gpu.is_done()) {
      times.push_back(static_cast<double>(gpu.begin().value().ns) * 1e-9);
      if (gpu.end()) gpu.take_sum(0);
    }
    return times;
  };
  const std::vector<double> times = times_of(1);
  ASSERT_EQ(times.size(), 6'000U);
  double mean = 0;
  double variance = 0;
  for (const double time : times) mean += time / 6'000;
  for (const double time : times) variance += (time - mean) * (time - mean) / 6'000;
  EXPECT_NEAR(mean, 1, 0.002);
  EXPECT_NEAR(std::sqrt(variance), 0.02, 0.001);
  EXPECT_EQ(times, times_of(1));
  EXPECT_NE(times, times_of(2));
}

}  // namespace
}  // namespace infold::mix
