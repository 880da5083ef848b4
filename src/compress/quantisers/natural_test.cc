// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

// Finds the largest power of two that is not above a magnitude, by multiplying.
double power_below(double magnitude) {
  double power = 0x1p-200;
  while (power * 2 <= magnitude) power *= 2;
  return power;
}

TEST(Natural, SendsThePowerBelowOrAboveEachElement) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double size : {0x1p-130, 1e-20, 1.0, 1e30}) {
    std::vector<float> tensor = draw_tensor(prng, 3000);
    for (float& value : tensor) value = static_cast<float>(double{value} * size);
    const auto sent = what_is_sent("natural", {{"bucket", 100}}, tensor, {.seed = seed});
    std::size_t up = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      if (tensor[i] == 0) continue;
      const double below = power_below(double{std::abs(tensor[i])});
      const double result = double{std::copysign(1.0F, tensor[i])} * double{sent[i]};
      EXPECT_TRUE(result == below || result == 2 * below) << tensor[i] << " to " << sent[i];
      up += result == 2 * below ? 1 : 0;
    }
    EXPECT_GT(up, tensor.size() / 4);
    EXPECT_LT(up, tensor.size() / 2);
  }
}

TEST(Natural, KeepsPowersOfTwo) {
  std::vector<float> tensor;
  for (int exponent = -60; exponent <= 60; ++exponent) {
    tensor.push_back(std::ldexp(1.0F, exponent));
    tensor.push_back(-tensor.back());
  }
  EXPECT_EQ(what_is_sent("natural", {}, tensor), tensor);
}

// The least power is 2^-126 of the largest. An element of a quarter of the least power becomes that
// power in one of four cases.
TEST(Natural, RoundsElementsBelowTheLeastPowerAtRandom) {
  constexpr std::size_t kElements = 20000;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  const float least = 0x1p-116F;
  std::vector<float> tensor(kElements, -least / 4);
  tensor[0] = 0x1p10F;
  const auto sent = what_is_sent("natural", {{"bucket", kElements}}, tensor, {.seed = seed});
  EXPECT_EQ(sent[0], tensor[0]);
  double count = 0;
  for (std::size_t i = 1; i < kElements; ++i) {
    EXPECT_TRUE(sent[i] == 0 || sent[i] == -least) << sent[i];
    count += sent[i] == 0 ? 0 : 1;
  }
  EXPECT_NEAR(count / kElements, 0.25, 6 * std::sqrt(0.25 * 0.75 / kElements));
}

TEST(Natural, SaturatesAtTheLargestPowerOfFloats) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> sent = what_is_sent("natural", {}, {most, -most, 0x1.8p127F, 0, 4});
  EXPECT_EQ(sent, (std::vector<float>{0x1p127F, -0x1p127F, 0x1p127F, 0, 4}));
}

// 4/3 has the largest error, which is an eighth.
TEST(Natural, HasTheVarianceOfAnEighth) {
  constexpr std::size_t kElements = 40000;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  const std::vector<float> tensor(kElements, 4.0F / 3);
  const auto sent = what_is_sent("natural", {}, tensor, {.seed = seed});
  EXPECT_NEAR(squared_error(sent, tensor) / squared_length(tensor), 1.0 / 8, 0.005);
}

}  // namespace
}  // namespace infold::compress
