// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

// Checks that a threshold may have chosen the elements: they are sent as they are, and no element
// that is missing is larger than one that was sent.
void expect_largest(const std::vector<float>& tensor, const std::vector<float>& sent) {
  float least = std::numeric_limits<float>::infinity();
  float missing = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    if (sent[i] == 0) {
      missing = std::max(missing, std::abs(tensor[i]));
    } else {
      least = std::min(least, std::abs(sent[i]));
      EXPECT_EQ(sent[i], tensor[i]);
    }
  }
  EXPECT_GT(least, missing);
}

TEST(Dgc, KeepsTheWantedNumberWithin30Percent) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double ratio : {0.001, 0.01, 0.1, 1.0}) {
    for (const double tail : {0.0, 1.0, 3.0}) {
      const std::vector<float> drawn = draw_tensor(prng, 100000, tail);
      for (const std::vector<float>& tensor : {drawn, negated_magnitudes(drawn)}) {
        const OneStep step = step_of_one(choose("dgc", {{"ratio", ratio}}), tensor, {.seed = seed});
        const std::size_t count = count_sent(step.sent);
        EXPECT_GE(static_cast<double>(count), 0.7 * ratio * 100000 - 1e-6) << ratio << " " << tail;
        EXPECT_LE(static_cast<double>(count), 1.3 * ratio * 100000 + 1e-6) << ratio << " " << tail;
        EXPECT_LE(static_cast<double>(step.bytes), bytes_most(count, 100000, 32));
        expect_largest(tensor, step.sent);
      }
    }
  }
}

TEST(Dgc, SamplesAllOfASmallTensor) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 1000);
  EXPECT_EQ(count_sent(step_of_one(choose("dgc", {{"ratio", 0.05}}), tensor).sent), 50U);
}

TEST(Dgc, SendsEqualElements) {
  const std::vector<float> equal(5000, -3);
  EXPECT_EQ(step_of_one(choose("dgc"), equal).sent, equal);
}

TEST(Dgc, SendsNoZeros) {
  const CompressionChoice choice = choose("dgc", {{"ratio", 0.1}});
  EXPECT_EQ(step_of_one(choice, std::vector<float>(100000)).bytes, 4U);
  std::vector<float> few(100000);
  for (std::size_t i = 0; i < few.size(); i += 1000) few[i] = 1;
  EXPECT_EQ(step_of_one(choice, few).sent, few);
}

TEST(Dgc, SendsNumbersThatAreNotFinite) {
  std::vector<float> tensor(5000, 1);
  for (std::size_t i = 0; i < tensor.size(); i += 2) {
    tensor[i] = i % 4 == 0 ? std::nanf("") : std::numeric_limits<float>::infinity();
  }
  const std::vector<float> sent = step_of_one(choose("dgc"), tensor).sent;
  for (std::size_t i = 0; i < tensor.size(); i += 2) EXPECT_FALSE(std::isfinite(sent[i])) << i;
}

}  // namespace
}  // namespace infold::compress
