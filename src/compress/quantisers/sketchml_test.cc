// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

// Finds bins and means of one bucket of at most 4096 elements, whose sample is the whole bucket.
std::vector<double> decode_slowly(const std::vector<float>& bucket, std::size_t bins) {
  std::vector<float> sorted = bucket;
  std::sort(sorted.begin(), sorted.end());
  std::vector<float> edges;
  for (std::size_t b = 1; b < bins; ++b) edges.push_back(sorted[b * sorted.size() / bins]);
  std::size_t at = 0;
  while (at + 1 < edges.size() && edges[at] < 0) ++at;
  edges[at] = 0;
  std::map<std::size_t, std::pair<long double, long double>> sums;
  const auto bin_of = [&edges](float value) {
    std::size_t bin = 0;
    for (const float edge : edges) bin += value >= edge ? 1 : 0;
    return bin;
  };
  for (const float value : bucket) {
    auto& [sum, count] = sums[bin_of(value)];
    sum += static_cast<long double>(value);
    count += 1;
  }
  std::vector<double> result;
  for (const float value : bucket) {
    const auto& [sum, count] = sums[bin_of(value)];
    result.push_back(static_cast<double>(sum / count));
  }
  return result;
}

TEST(SketchMl, SendsTheMeanOfEachElementsBin) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::size_t bins : {2, 3, 5, 64, 200, 256}) {
    constexpr std::size_t kBucket = 1000;
    const std::vector<float> tensor = draw_tensor(prng, 3700);
    const auto sent = what_is_sent(
        "sketchml", {{"bins", static_cast<double>(bins)}, {"bucket", kBucket}}, tensor);
    for (std::size_t first = 0; first < tensor.size(); first += kBucket) {
      const std::size_t end = std::min(first + kBucket, tensor.size());
      const auto expected = decode_slowly({tensor.begin() + static_cast<std::ptrdiff_t>(first),
                                           tensor.begin() + static_cast<std::ptrdiff_t>(end)},
                                          bins);
      for (std::size_t i = first; i < end; ++i) {
        EXPECT_NEAR(double{sent[i]}, expected[i - first], 1e-6 * std::abs(expected[i - first]));
      }
    }
  }
}

// Uses tensors with few different values, with one sign, or with sums of zero. No bin may have a
// mean of zero unless all its elements are zero.
TEST(SketchMl, HasAnErrorSmallerThanAnyTensor) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  std::vector<std::vector<float>> tensors = {{-5, -5, -5, -5, 10, 10}, {5, -5}, {-1, -1, -2, 0}};
  for (int round = 0; round < 300; ++round) {
    std::vector<float> tensor(1 + prng.below(40));
    for (float& value : tensor) value = static_cast<float>(prng.between(-2, 3));
    tensors.push_back(tensor);
  }
  tensors.push_back(std::vector<float>(9000, -5));  // longer than the sample
  for (std::size_t i = 1; i < 3000; ++i) tensors.back()[3 * i] = 10;
  for (const std::vector<float>& tensor : tensors) {
    for (const double bins : {2, 3, 16}) {
      const auto sent = what_is_sent("sketchml", {{"bins", bins}}, tensor);
      const double length = squared_length(tensor);
      EXPECT_LE(squared_error(sent, tensor), length * (1 - 1.0 / 9001) + 1e-9);
    }
  }
}

TEST(SketchMl, HasASmallErrorWithManyBins) {
  base::Prng prng(4);
  const std::vector<float> tensor = draw_tensor(prng, 16384, 0.1);
  const auto sent = what_is_sent("sketchml", {{"bins", 256}}, tensor);
  EXPECT_LT(squared_error(sent, tensor), 5e-3 * squared_length(tensor));
}

TEST(SketchMl, ShipsNoMoreBinsThanElements) {
  const auto compressor = make_one("sketchml", {}, 3);
  EXPECT_EQ(code_of(*compressor, std::vector<float>{1, 2, 3}).size(), 3 * sizeof(float) + 1);
}

}  // namespace
}  // namespace infold::compress
