// SPDX-License-Identifier: Apache-2.0
//
// Tests the methods threshold and hard.
#include "compress/sparsifiers/above.h"

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

void expect_above(const CompressionChoice& choice, const std::vector<float>& tensor, double limit) {
  const OneStep step = step_of_one(choice, tensor);
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const bool is_sent = std::abs(double{tensor[i]}) > limit;
    count += is_sent ? 1 : 0;
    EXPECT_EQ(step.sent[i], is_sent ? tensor[i] : 0) << i << " of limit " << limit;
  }
  EXPECT_LE(static_cast<double>(step.bytes), bytes_most(count, tensor.size(), 32));
}

TEST(Threshold, SendsWhatIsAboveTheValue) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double value : {0.0, 1e-3, 0.1, 1.0, 3.0, 1e30}) {
    const CompressionChoice choice = choose("threshold", {{"value", value}});
    expect_above(choice, draw_tensor(prng, 5000), value);
    expect_above(choice, draw_ties(prng, 5000), value);
    expect_above(choice, negated_magnitudes(draw_tensor(prng, 5000)), value);
  }
}

// 0.1 lies between two floats.
TEST(Threshold, TakesAValueThatIsNoFloat) {
  const std::vector<float> tensor = {0.1F, std::nextafter(0.1F, 0.0F), std::nextafter(0.1F, 1.0F)};
  expect_above(choose("threshold", {{"value", 0.1}}), tensor, 0.1);
}

TEST(Threshold, SendsNans) {
  const OneStep step = step_of_one(choose("threshold", {{"value", 1e38}}), {1, std::nanf(""), 2});
  EXPECT_EQ(step.sent[0], 0);
  EXPECT_TRUE(std::isnan(step.sent[1]));
  EXPECT_TRUE(std::isnan(step.mean[1]));
}

TEST(Hard, FollowsThePapersRule) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double kept : {1.0, 4.0, 11173.0}) {
    expect_above(choose("hard", {{"kept", kept}}), draw_tensor(prng, 5000, 3),
                 0.5 / std::sqrt(kept));
  }
}

}  // namespace
}  // namespace infold::compress
