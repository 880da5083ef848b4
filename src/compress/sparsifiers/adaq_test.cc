// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

// Writes what one side sends, by sorting. Returns how many elements it sends.
std::size_t send_side(const std::vector<float>& tensor, double ratio, bool is_below,
                      std::vector<float>& sent) {
  std::vector<std::size_t> side;
  for (const std::size_t index : order_by_magnitude(tensor)) {
    if (is_below ? tensor[index] < 0 : tensor[index] > 0) side.push_back(index);
  }
  if (side.empty()) return 0;
  const double wanted = std::floor(ratio * static_cast<double>(side.size()));
  side.resize(static_cast<std::size_t>(std::max(1.0, wanted)));
  std::sort(side.begin(), side.end());
  double sum = 0;
  for (const std::size_t index : side) sum += double{tensor[index]};
  for (const std::size_t index : side) {
    sent[index] = static_cast<float>(sum / static_cast<double>(side.size()));
  }
  return side.size();
}

TEST(AdaQ, SendsTheMeanOfTheLargestOfEachSide) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double ratio : {0.001, 0.01, 0.2, 1.0}) {
    for (const std::size_t elements : {1, 2, 100, 20000}) {
      const std::vector<float> drawn = draw_tensor(prng, elements);
      for (const std::vector<float>& tensor :
           {drawn, draw_ties(prng, elements), negated_magnitudes(drawn)}) {
        std::vector<float> wanted(elements);
        const std::size_t count =
            send_side(tensor, ratio, false, wanted) + send_side(tensor, ratio, true, wanted);
        const OneStep step = step_of_one(choose("adaq", {{"ratio", ratio}}), tensor);
        EXPECT_EQ(step.sent, wanted) << ratio << " of " << elements;
        EXPECT_EQ(step.mean, wanted);
        EXPECT_LE(static_cast<double>(step.bytes), bytes_most(count, elements, 1) + 8);
      }
    }
  }
}

TEST(AdaQ, ShowsANanOnItsSideAlone) {
  std::vector<float> tensor = {1, 2, 3, -4, -5, -6};
  tensor[1] = std::nanf("");
  const std::vector<float> sent = step_of_one(choose("adaq"), tensor).sent;
  EXPECT_TRUE(std::isnan(sent[1]));
  EXPECT_EQ(sent[5], -6);
}

}  // namespace
}  // namespace infold::compress
