// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

TEST(Strom, SendsTauAndASign) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double tau : {0.25, 1.0, 3.0, 1e6}) {
    for (const std::vector<float>& tensor : {draw_tensor(prng, 20000), draw_ties(prng, 20000),
                                             negated_magnitudes(draw_tensor(prng, 20000))}) {
      const OneStep step = step_of_one(choose("strom", {{"tau", tau}}), tensor);
      std::size_t count = 0;
      for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double value = tensor[i];
        const double wanted = value > tau ? tau : value < -tau ? -tau : 0;
        count += wanted == 0 ? 0 : 1;
        EXPECT_EQ(double{step.sent[i]}, wanted) << value;
        EXPECT_EQ(double{step.mean[i]}, wanted) << value;
      }
      EXPECT_LE(static_cast<double>(step.bytes), bytes_most(count, tensor.size(), 1) + 8);
    }
  }
}

// With a residual, many steps with the same gradient send all of it in the end.
TEST(Strom, SendsAllInTheEndWithAResidual) {
  const CompressionChoice choice = choose("strom", {{"tau", 1}}, "residual");
  const std::vector<float> gradient = {0.25F, -0.5F, 0.75F, 0};
  RoundTable table = make_table(choice, {4, {}}, 1);
  const std::unique_ptr<Memory> memory = choice.make_memory({4, {}});
  std::vector<double> sums(4);
  for (std::uint64_t step = 0; step < 100; ++step) {
    const auto input = memory->take_in(gradient);
    const std::vector<std::vector<float>> tensors = {{input.begin(), input.end()}};
    ASSERT_TRUE(table.meet(tensors, {.seed = 1, .step = step}));
    memory->see(*table.ranks()[0]);
    const std::vector<float> sent = table.sent_by(0);
    for (std::size_t i = 0; i < 4; ++i) sums[i] += double{sent[i]};
    memory->commit();
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(sums[i], 100 * double{gradient[i]}, 1) << i;
}

TEST(Strom, ShowsANan) {
  const std::vector<float> sent =
      step_of_one(choose("strom", {{"tau", 1}}), {2, 0.5F, std::nanf("")}).sent;
  EXPECT_TRUE(std::isnan(sent[0]));
  EXPECT_EQ(sent[1], 0);
  EXPECT_TRUE(std::isnan(sent[2]));
}

}  // namespace
}  // namespace infold::compress
