// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

TEST(MinMax, SendsTheNearestOrANeighbouringStep) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 1500);
  constexpr std::size_t kBucket = 400;
  for (int bits = 1; bits <= 8; ++bits) {
    for (const double random : {0.0, 1.0}) {
      const auto sent =
          what_is_sent("minmax", {{"bits", bits}, {"bucket", kBucket}, {"random", random}}, tensor,
                       {.seed = seed});
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        const auto begin = tensor.begin() + static_cast<std::ptrdiff_t>(i / kBucket * kBucket);
        const auto end =
            begin + std::min<std::ptrdiff_t>(std::ptrdiff_t{kBucket}, tensor.end() - begin);
        const double least = double{*std::min_element(begin, end)};
        const double most = double{*std::max_element(begin, end)};
        const double step = (most - least) / (std::pow(2, bits) - 1);
        const double steps = (double{sent[i]} - least) / step;
        EXPECT_NEAR(steps, std::round(steps), 1e-4) << i;
        const double allowed = random == 1 ? 1 : 0.5;
        EXPECT_LE(std::abs(double{sent[i]} - double{tensor[i]}), step * (allowed + 1e-4)) << i;
      }
    }
  }
}

TEST(MinMax, KeepsTheSmallestAndTheLargestElement) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (int round = 0; round < 50; ++round) {
    const std::vector<float> tensor = draw_tensor(prng, 300);
    const auto sent = what_is_sent("minmax", {{"bits", 3}}, tensor, {.seed = seed});
    const auto [least, most] = std::minmax_element(tensor.begin(), tensor.end());
    EXPECT_EQ(sent[static_cast<std::size_t>(least - tensor.begin())], *least);
    EXPECT_EQ(sent[static_cast<std::size_t>(most - tensor.begin())], *most);
  }
}

TEST(MinMax, KeepsEqualElements) {
  for (const float value : {-3.5F, 0.0F, 1e-45F, std::numeric_limits<float>::max()}) {
    const std::vector<float> tensor(700, value);
    EXPECT_EQ(what_is_sent("minmax", {{"bits", 1}}, tensor), tensor);
  }
}

TEST(MinMax, TakesTheWholeRangeOfFloats) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> tensor = {-most, most, 0, most / 3, -most};
  const auto sent = what_is_sent("minmax", {{"bits", 8}, {"random", 0}}, tensor);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    EXPECT_NEAR(double{sent[i]}, double{tensor[i]}, double{most} / 255 * 1.001) << i;
  }
}

TEST(MinMax, IsUnbiasedWithOneBit) { expect_unbiased(choose("minmax", {{"bits", 1}})); }

// The method therefore states no variance, and check_pair() refuses a residual.
TEST(MinMax, MayHaveAnErrorLargerThanTheTensor) {
  std::vector<float> tensor(512, 0.1F);
  tensor[0] = -1;
  tensor[1] = 1;
  const auto sent = what_is_sent("minmax", {{"bits", 1}, {"random", 0}}, tensor);
  EXPECT_GT(squared_error(sent, tensor), 2 * squared_length(tensor));
}

}  // namespace
}  // namespace infold::compress
