// SPDX-License-Identifier: Apache-2.0
//
// Tests the judge of results on sums that are easy to know, and makes a short sweep.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/true_sums/nearest.h"
#include "tests/true_sums/sweep.h"

namespace infold::true_sums {
namespace {

std::uint64_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

bool is_nearest_f32(const std::vector<float>& values, std::uint32_t divisor, float result) {
  std::vector<std::uint64_t> bits;
  for (const float value : values) bits.push_back(bits_of(value));
  return is_nearest<F32>(bits, divisor, bits_of(result));
}

TEST(Nearest, KnowsTheNumberAboveAndBelow) {
  EXPECT_TRUE(is_nearest_f32({2.5F, 3e9F}, 1, 3e9F));
  EXPECT_TRUE(is_nearest_f32({1, 2, 4}, 3, 7.0F / 3));
  EXPECT_FALSE(is_nearest_f32({1, 2, 4}, 3, std::nextafter(7.0F / 3, 9.0F)));
  EXPECT_FALSE(is_nearest_f32({1, 2, 4}, 3, std::nextafter(7.0F / 3, 0.0F)));
  EXPECT_FALSE(is_nearest_f32({1, 2, 4}, 3, -7.0F / 3));
}

TEST(Nearest, TakesTheEvenOneInTheMiddle) {
  const float one_up = std::nextafter(1.0F, 2.0F);
  EXPECT_TRUE(is_nearest_f32({1, 0x1p-24F}, 1, 1));
  EXPECT_FALSE(is_nearest_f32({1, 0x1p-24F}, 1, one_up));
  EXPECT_TRUE(is_nearest_f32({1, 0x1p-24F, 0x1p-149F}, 1, one_up));
  EXPECT_FALSE(is_nearest_f32({1, 0x1p-24F, 0x1p-149F}, 1, 1));
  // Below a power of two the numbers are twice as close.
  EXPECT_TRUE(is_nearest_f32({1, -0x1p-25F}, 1, 1));
  EXPECT_FALSE(is_nearest_f32({1, -0x1p-24F}, 1, 1));
}

TEST(Nearest, KnowsZerosOverflowAndSpecials) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(is_nearest_f32({-0.0F, -0.0F}, 1, 0.0F));
  EXPECT_FALSE(is_nearest_f32({-0.0F, -0.0F}, 1, -0.0F));
  EXPECT_TRUE(is_nearest_f32({-0x1p-149F, 0}, 2, -0.0F));
  EXPECT_TRUE(is_nearest_f32({kMax, 0x1p102F}, 1, kMax));
  EXPECT_TRUE(is_nearest_f32({kMax, 0x1p103F}, 1, kInfinity));
  EXPECT_FALSE(is_nearest_f32({kMax, 0x1p103F}, 1, kMax));
  EXPECT_TRUE(is_nearest_f32({kMax, kMax}, 2, kMax));
  EXPECT_TRUE(is_nearest_f32({-kInfinity, 1}, 2, -kInfinity));
  EXPECT_FALSE(is_nearest_f32({-kInfinity, kInfinity}, 1, kInfinity));
  EXPECT_TRUE(is_nearest<F32>(std::vector{bits_of(kInfinity), bits_of(-kInfinity)}, 1, F32::kNan));
}

TEST(TrueSums, OfDrawnElementsAreRoundedOnce) {
  const SweepReport report = sweep({.elements = 300'000, .seed = 20261124});
  EXPECT_EQ(report.wrong, "");
  EXPECT_GE(report.elements, 300'000U);
  EXPECT_GT(report.repaired, 20U);
  EXPECT_GT(report.binned, 20U);
}

TEST(TrueSums, OfGradientsRarelyNeedASecondDouble) {
  const Rates of_normal = rates_of_normal(2'000, 1);
  EXPECT_EQ(of_normal.repaired + of_normal.binned, 0U);
  const Rates of_heavy_tails = rates_of_heavy_tails(2'000, 1);
  EXPECT_LT(of_heavy_tails.repaired, 10U);
  EXPECT_EQ(of_heavy_tails.binned, 0U);
}

}  // namespace
}  // namespace infold::true_sums
