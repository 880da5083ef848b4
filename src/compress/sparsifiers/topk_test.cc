// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

// Chooses the elements by sorting.
std::vector<float> slow_topk(const std::vector<float>& tensor, double ratio) {
  const auto n = static_cast<double>(tensor.size());
  const auto kept = static_cast<std::size_t>(std::max(1.0, std::floor(ratio * n)));
  const std::vector<std::size_t> order = order_by_magnitude(tensor);
  std::vector<float> sent(tensor.size());
  for (std::size_t i = 0; i < kept; ++i) sent[order[i]] = tensor[order[i]];
  return sent;
}

TEST(TopK, SendsWhatASortSends) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double ratio : {1e-7, 0.001, 0.01, 0.29, 0.5, 1.0}) {
    const CompressionChoice choice = choose("topk", {{"ratio", ratio}});
    for (const std::size_t elements : {1, 2, 50, 99, 100, 1000, 10000}) {
      for (const std::vector<float>& tensor :
           {draw_tensor(prng, elements), draw_ties(prng, elements),
            negated_magnitudes(draw_tensor(prng, elements))}) {
        EXPECT_EQ(step_of_one(choice, tensor).sent, slow_topk(tensor, ratio))
            << ratio << " of " << elements;
      }
    }
  }
}

TEST(TopK, SendsNansFirstAndAsTheyAre) {
  std::vector<float> tensor(100, 5);
  tensor[70] = std::nanf("");
  tensor[80] = std::numeric_limits<float>::infinity();
  tensor[90] = -std::nanf("7");
  const std::vector<float> sent = step_of_one(choose("topk", {{"ratio", 0.04}}), tensor).sent;
  for (const std::size_t index : {0, 70, 80, 90}) {
    EXPECT_EQ(std::memcmp(&sent[index], &tensor[index], sizeof(float)), 0) << index;
  }
  for (std::size_t i = 1; i < 70; ++i) EXPECT_EQ(sent[i], 0);
}

TEST(TopK, SendsTheBytesOfItsFormulaOnBothWays) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 200000);
  for (const int travel : {0, 1}) {
    for (const double ratio : {0.001, 0.01, 0.1, 0.5, 1.0}) {
      const CompressionChoice choice = choose("topk", {{"ratio", ratio}, {"travel", travel}});
      const double formula =
          choice.method().formula_bits({tensor.size(), {}}, choice.settings(), 1) / 8;
      const auto bytes = static_cast<double>(step_of_one(choice, tensor).bytes);
      EXPECT_LE(bytes, 1.05 * formula + 64) << ratio << " travel " << travel;
      EXPECT_GE(bytes, 0.95 * formula - 64) << ratio << " travel " << travel;
    }
  }
}

}  // namespace
}  // namespace infold::compress
