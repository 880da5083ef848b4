// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

// Makes the tree by its definition: the number of leading zeros gives the decade, and the bits
// behind the first one give the place within it.
std::set<double> tree() {
  std::set<double> numbers = {0, 1};
  for (int bits = 1; bits < 128; ++bits) {
    int fraction_bits = 0;
    while ((bits >> (fraction_bits + 1)) != 0) ++fraction_bits;
    const int fraction = bits - (1 << fraction_bits);
    const double part = 0.9 / (1 << fraction_bits);
    const double number = (0.1 + part * (fraction + 0.5)) * std::pow(10, fraction_bits - 6);
    numbers.insert(number);
    numbers.insert(-number);
  }
  return numbers;
}

TEST(Table8, SendsTheNearestNumberOfTheTree) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::set<double> numbers = tree();
  ASSERT_EQ(numbers.size(), 256);
  const std::vector<float> tensor = draw_tensor(prng, 2000, 2);
  constexpr std::size_t kBucket = 300;
  const auto sent = what_is_sent("table8", {{"bucket", kBucket}}, tensor);
  for (std::size_t first = 0; first < tensor.size(); first += kBucket) {
    const std::size_t end = std::min(first + kBucket, tensor.size());
    double most = 0;
    for (std::size_t i = first; i < end; ++i) most = std::max(most, double{std::abs(tensor[i])});
    for (std::size_t i = first; i < end; ++i) {
      double best = 10;
      for (const double number : numbers) {
        best = std::min(best, std::abs(number - double{tensor[i]} / most));
      }
      EXPECT_NEAR(std::abs(double{sent[i]} / most - double{tensor[i]} / most), best, 1e-7) << i;
    }
  }
}

TEST(Table8, SendsEachNumberOfTheTreeAsItself) {
  std::vector<float> tensor;
  for (const double number : tree()) tensor.push_back(static_cast<float>(number));
  const auto sent = what_is_sent("table8", {}, tensor);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    EXPECT_NEAR(double{sent[i]}, double{tensor[i]}, 1e-7 * double{std::abs(tensor[i])});
  }
  EXPECT_EQ(std::set<float>(sent.begin(), sent.end()).size(), 256);
}

// Each element's error is at most the element itself, because zero is in the tree.
TEST(Table8, MakesNoElementsErrorLargerThanTheElement) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double tail : {0.1, 1.0, 4.0}) {
    const std::vector<float> tensor = draw_tensor(prng, 5000, tail);
    const auto sent = what_is_sent("table8", {}, tensor);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      EXPECT_LE(std::abs(sent[i] - tensor[i]), std::abs(tensor[i])) << i;
    }
    EXPECT_LT(squared_error(sent, tensor), 1e-3 * squared_length(tensor));
  }
}

}  // namespace
}  // namespace infold::compress
