// SPDX-License-Identifier: Apache-2.0
//
// Helps tests to check that the mean of what a method sends is the tensor.
#pragma once

#include <algorithm>

#include "compress/testing.h"

namespace infold::compress {

// The mean over many steps must converge to the tensor. Each of 64 elements may deviate by 5
// standard deviations, as observed. An element that is rarely rounded up may by chance never be, or
// too often. Another 12 times the largest error of a step is therefore allowed, because 12 expected
// events all fail to happen only with probability exp(-12).
inline void expect_unbiased(const CompressionChoice& choice) {
  constexpr std::size_t kElements = 64;
  constexpr int kSteps = 4000;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<std::vector<float>> tensors = {draw_tensor(prng, kElements)};
  RoundTable ranks = make_table(choice, {kElements, {}}, 1);
  std::vector<double> sums(kElements);
  std::vector<double> squares(kElements);
  double most = 0;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(ranks.meet(tensors, {.seed = seed, .step = static_cast<std::uint64_t>(step)}));
    const std::vector<float> sent = ranks.sent_by(0);
    for (std::size_t i = 0; i < kElements; ++i) {
      const double error = double{sent[i]} - double{tensors[0][i]};
      sums[i] += error;
      squares[i] += error * error;
      most = std::max(most, std::abs(error));
    }
  }
  for (std::size_t i = 0; i < kElements; ++i) {
    const double rounding = 1e-6 * double{std::abs(tensors[0][i])} * kSteps;
    EXPECT_LE(std::abs(sums[i]), 5 * std::sqrt(squares[i]) + 12 * most + rounding)
        << "element " << i;
  }
}

}  // namespace infold::compress
