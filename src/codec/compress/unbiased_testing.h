// SPDX-License-Identifier: Apache-2.0
//
// For tests: that the mean of what a method sends is the tensor.
#pragma once

#include <algorithm>

#include "codec/compress/testing.h"

namespace infold::codec {

// The mean over many steps goes to the tensor, but for chance: 5 standard deviations of one of 64
// elements, as they were seen. An element that is rounded up rarely may have done so never, or too
// often. So 12 times the largest error of a step is allowed beside it: that 12 events were to come
// and none came has the probability exp(-12).
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

}  // namespace infold::codec
