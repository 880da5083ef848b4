// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

// Follows the paper's definition in long double. Only the level below or the level above may be
// sent.
TEST(Qsgd, SendsOneOfTheTwoLevelsAroundEachElement) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 2000);
  for (int bits = 2; bits <= 8; ++bits) {
    constexpr std::size_t kBucket = 300;
    const auto sent =
        what_is_sent("qsgd", {{"bits", bits}, {"bucket", kBucket}}, tensor, {.seed = seed});
    const long double levels = std::pow(2.0L, bits - 1) - 1;
    for (std::size_t first = 0; first < tensor.size(); first += kBucket) {
      const std::size_t end = std::min(first + kBucket, tensor.size());
      long double squares = 0;
      for (std::size_t i = first; i < end; ++i) {
        squares += static_cast<long double>(tensor[i]) * static_cast<long double>(tensor[i]);
      }
      const long double norm = std::sqrt(squares);
      for (std::size_t i = first; i < end; ++i) {
        const long double exact = static_cast<long double>(tensor[i]) / norm * levels;
        const long double level = static_cast<long double>(sent[i]) / norm * levels;
        EXPECT_NEAR(static_cast<double>(level - std::round(level)), 0, 1e-4) << i;
        EXPECT_LT(static_cast<double>(std::abs(level - exact)), 1 + 1e-4) << i;
      }
    }
  }
}

TEST(Qsgd, IsUnbiasedWithFewBits) {
  expect_unbiased(choose("qsgd", {{"bits", 2}}));
  expect_unbiased(choose("qsgd", {{"bits", 4}, {"bucket", 32}}));
}

// Uses tensors whose magnitudes are all equal, because they have the largest error.
TEST(Qsgd, HasNoMoreVarianceThanItStates) {
  constexpr std::size_t kElements = 4096;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  std::vector<float> even(kElements);
  for (float& value : even) value = prng.chance(0.5) ? 1.0F : -1.0F;
  for (const std::vector<float>& tensor : {even, draw_tensor(prng, kElements)}) {
    for (const double bits : {2, 3, 4, 6, 8}) {
      const CompressionChoice choice = choose("qsgd", {{"bits", bits}});
      double error = 0;
      constexpr int kSteps = 20;
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        error += squared_error(
            what_is_sent("qsgd", {{"bits", bits}}, tensor, {.seed = seed, .step = step}), tensor);
      }
      error /= kSteps * squared_length(tensor);
      const double stated = choice.method().variance({kElements, {}}, choice.settings());
      const double levels = std::pow(2, bits - 1) - 1;
      EXPECT_EQ(stated, std::min(512 / (levels * levels), std::sqrt(512) / levels));
      EXPECT_LE(error, stated) << bits;
      EXPECT_GT(error, 0) << bits;
    }
  }
}

TEST(Qsgd, GivesZerosForABucketOfZeros) {
  std::vector<float> tensor(1024);
  tensor[700] = 3;
  const auto sent = what_is_sent("qsgd", {}, tensor);
  EXPECT_EQ(sent, tensor);  // the only element is its bucket's norm, so it is exact
}

TEST(Qsgd, KeepsTensorsWhoseNormIsAboveAllFloats) {
  const std::vector<float> tensor(512, std::numeric_limits<float>::max());
  EXPECT_EQ(what_is_sent("qsgd", {{"bits", 4}}, tensor), tensor);
}

}  // namespace
}  // namespace infold::compress
