// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

long double most_of(const std::vector<float>& tensor, std::size_t first, std::size_t end,
                    double clip) {
  long double most = 0;
  long double squares = 0;
  for (std::size_t i = first; i < end; ++i) {
    const long double value = static_cast<long double>(tensor[i]);
    most = std::max(most, std::abs(value));
    squares += value * value;
  }
  if (clip == 0) return most;
  const long double deviation = std::sqrt(squares / static_cast<long double>(end - first));
  return std::min(most, static_cast<long double>(clip) * deviation);
}

TEST(TernGrad, SendsMinusZeroOrPlusTheLargestMagnitude) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 2222);
  for (const double clip : {0.0, 1.0, 2.5}) {
    for (const std::size_t bucket : {0, 500}) {
      const auto sent =
          what_is_sent("terngrad", {{"clip", clip}, {"bucket", static_cast<double>(bucket)}},
                       tensor, {.seed = seed});
      const std::size_t size = bucket == 0 ? tensor.size() : bucket;
      for (std::size_t first = 0; first < tensor.size(); first += size) {
        const std::size_t end = std::min(first + size, tensor.size());
        const auto most = static_cast<double>(most_of(tensor, first, end, clip));
        for (std::size_t i = first; i < end; ++i) {
          if (double{std::abs(tensor[i])} > most * (1 - 1e-6)) {
            EXPECT_NEAR(double{std::abs(sent[i])}, most, most * 1e-6) << i;
          }
          if (sent[i] == 0) continue;
          EXPECT_NEAR(double{sent[i]}, std::copysign(most, double{tensor[i]}), most * 1e-6) << i;
        }
      }
    }
  }
}

// The mean over many steps must be the clipped element.
TEST(TernGrad, IsUnbiasedForWhatClippingLeaves) {
  constexpr std::size_t kElements = 64;
  constexpr int kSteps = 4000;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, kElements);
  const auto most = static_cast<double>(most_of(tensor, 0, kElements, 1.5));
  std::vector<double> sums(kElements);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const auto sent =
        what_is_sent("terngrad", {{"clip", 1.5}}, tensor, {.seed = seed, .step = step});
    for (std::size_t i = 0; i < kElements; ++i) sums[i] += double{sent[i]};
  }
  for (std::size_t i = 0; i < kElements; ++i) {
    const double expected = std::clamp(double{tensor[i]}, -most, most);
    const double chance = std::abs(expected) / most;
    const double deviation = most * std::sqrt(chance * (1 - chance) / kSteps);
    EXPECT_NEAR(sums[i] / kSteps, expected, 6 * deviation + 12 * most / kSteps) << i;
  }
}

TEST(TernGrad, IsUnbiasedWithoutClipping) { expect_unbiased(choose("terngrad", {{"bucket", 32}})); }

TEST(TernGrad, KeepsEqualElementsWithClipping) {
  const std::vector<float> tensor(100, 0.25F);
  EXPECT_EQ(what_is_sent("terngrad", {{"clip", 2.5}}, tensor), tensor);
}

TEST(TernGrad, ShipsFiveElementsAByte) {
  const auto compressor = make_one("terngrad", {}, 1001);
  EXPECT_EQ(code_of(*compressor, std::vector<float>(1001, 1.0F)).size(), 4 + 201);
}

}  // namespace
}  // namespace infold::compress
