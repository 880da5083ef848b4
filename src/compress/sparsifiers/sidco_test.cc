// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "compress/selection/selection_testing.h"
#include "compress/sparsifiers/sidco_laws.h"

namespace infold::compress {
namespace {

using Draw = std::function<double(base::Prng&)>;

double draw_laplace(base::Prng& prng) {
  const double magnitude = -std::log(1 - prng.uniform());
  return prng.chance(0.5) ? magnitude : -magnitude;
}
double draw_half_normal(base::Prng& prng) { return std::abs(draw_normal(prng)); }
// Draws from the gamma law of shape 1/2, as half the square of a normal number.
double draw_gamma(base::Prng& prng) { return std::pow(draw_normal(prng), 2) / 2; }
double draw_student(base::Prng& prng) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) squares += std::pow(draw_normal(prng), 2);
  return draw_normal(prng) / std::sqrt(squares / 3);
}

std::vector<float> draw_many(base::Prng& prng, std::size_t elements, const Draw& draw) {
  std::vector<float> tensor(elements);
  for (float& value : tensor) value = static_cast<float>(draw(prng));
  return tensor;
}

// Returns how many elements the method keeps, by plain loops, for law 2 and without the exact
// selection.
std::size_t slow_count(const std::vector<float>& tensor, double ratio, int stages) {
  std::vector<double> left;
  for (const float value : tensor) left.push_back(std::abs(double{value}));
  const double wanted = std::floor(ratio * static_cast<double>(tensor.size()));
  double limit = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const auto count = static_cast<double>(left.size());
    double mean = 0;
    for (const double value : left) mean += (value - limit) / count;
    double variance = 0;
    for (const double value : left) variance += std::pow(value - limit - mean, 2) / count;
    const double part = stage == 0 && stages > 1 ? std::max(0.25, wanted / count)
                                                 : std::pow(wanted / count, 1.0 / (stages - stage));
    const double r = mean * mean / variance;
    const double xi = (1 - r) / 2;
    limit += mean * (1 + r) / 2 / xi * (std::pow(part, -xi) - 1);
    std::erase_if(left, [limit](double value) { return value <= limit; });
  }
  return left.size();
}

TEST(Sidco, KeepsTheWantedNumberWithin20PercentByItsLawAlone) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  constexpr std::size_t kElements = 1000000;
  for (const auto draw : {draw_laplace, draw_half_normal, draw_gamma, draw_student}) {
    const std::vector<float> tensor = draw_many(prng, kElements, draw);
    for (const double ratio : {0.1, 0.01, 0.001}) {
      SCOPED_TRACE(ratio);
      const CompressionChoice choice =
          choose("sidco", {{"ratio", ratio}, {"law", 2}, {"stages", 3}});
      const OneStep step = step_of_one(choice, tensor);
      const std::size_t count = count_sent(step.sent);
      const double achieved = static_cast<double>(count) / (ratio * kElements);
      EXPECT_GE(achieved, 0.8);
      EXPECT_LE(achieved, 1.2);
      // Rounding may move a threshold past an element, and so may a sample of 4096 / ratio
      // elements.
      const bool is_sampled = 2 * 4096 / ratio <= kElements;
      const auto slow = static_cast<double>(slow_count(tensor, ratio, 3));
      EXPECT_NEAR(static_cast<double>(count), slow, 2 + (is_sampled ? 0.12 : 1e-4) * slow);
      EXPECT_LE(static_cast<double>(step.bytes), bytes_most(count, kElements, 32));
    }
  }
}

// A law that does not fit gives way to an exact selection, so all laws stay in the band and send
// the largest elements.
TEST(Sidco, StaysInTheBandWithAllLawsAndStages) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> two_sizes = draw_many(prng, 50000, [](base::Prng& each) {
    return draw_normal(each) * (each.chance(0.001) ? 1000 : 0.001);
  });
  for (const std::vector<float>& tensor :
       {draw_tensor(prng, 50000, 0), draw_tensor(prng, 50000, 3), two_sizes,
        negated_magnitudes(draw_tensor(prng, 50000))}) {
    const std::vector<std::size_t> order = order_by_magnitude(tensor);
    for (const double ratio : {0.5, 0.01, 0.001, 1.0}) {
      for (const double law : {0, 1, 2}) {
        for (const double stages : {1, 2, 3, 4}) {
          const std::vector<float> sent =
              step_of_one(choose("sidco", {{"ratio", ratio}, {"law", law}, {"stages", stages}}),
                          tensor)
                  .sent;
          const std::size_t count = count_sent(sent);
          EXPECT_GE(static_cast<double>(count), 0.8 * ratio * 50000 - 1e-6) << law << " " << stages;
          EXPECT_LE(static_cast<double>(count), 1.2 * ratio * 50000 + 1e-6) << law << " " << stages;
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(sent[order[i]], tensor[order[i]]);
        }
      }
    }
  }
}

// Each setting must have an effect. With one stage, the laws keep different numbers of elements.
// The tensor is too short to be sampled.
TEST(Sidco, FollowsTheLawThatIsSet) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_many(prng, 60000, draw_laplace);
  const auto magnitudes_above = [&](double limit) {
    return static_cast<std::size_t>(std::count_if(
        tensor.begin(), tensor.end(),
        [limit](float value) { return std::abs(value) > static_cast<float>(limit); }));
  };
  const Moments moments = moments_of(tensor, 0);
  const std::vector<double> limits = {exponential_limit(moments, 0.1),
                                      gamma_limit(moments, mean_log_of(tensor), 0.1),
                                      pareto_limit(moments, 0.1)};
  for (std::size_t law = 0; law < limits.size(); ++law) {
    const CompressionChoice choice =
        choose("sidco", {{"ratio", 0.1}, {"law", static_cast<double>(law)}, {"stages", 1}});
    EXPECT_EQ(count_sent(step_of_one(choice, tensor).sent), magnitudes_above(limits[law])) << law;
  }
}

TEST(Sidco, SaysWhenAnExactSelectionChose) {
  base::Prng prng(6);
  const auto compressor = make_one("sidco", {{"ratio", 0.01}}, 50000);
  compressor->begin(draw_many(prng, 50000, draw_laplace), {});
  EXPECT_FALSE(compressor->fell_back());
  compressor->begin(std::vector<float>(50000, -2), {});
  EXPECT_TRUE(compressor->fell_back());
}

TEST(Sidco, SendsOfEqualElementsAsManyAsItShall) {
  for (const double law : {0, 1, 2}) {
    const CompressionChoice choice = choose("sidco", {{"law", law}});
    const std::vector<float> sent = step_of_one(choice, std::vector<float>(5000, -2)).sent;
    EXPECT_EQ(count_sent(sent), 50U);
    EXPECT_EQ(sent[49], -2);
  }
}

TEST(Sidco, SendsNoZeros) {
  const CompressionChoice choice = choose("sidco", {{"ratio", 0.1}});
  EXPECT_EQ(step_of_one(choice, std::vector<float>(10000)).bytes, 4U);
  std::vector<float> few(10000);
  for (std::size_t i = 0; i < few.size(); i += 100) few[i] = static_cast<float>(i + 1);
  EXPECT_EQ(step_of_one(choice, few).sent, few);
}

TEST(Sidco, SendsNumbersThatAreNotFinite) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const float odd : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> tensor = draw_tensor(prng, 10000);
    tensor[1234] = odd;
    const std::vector<float> sent = step_of_one(choose("sidco"), tensor).sent;
    EXPECT_FALSE(std::isfinite(sent[1234]));
    EXPECT_EQ(count_sent(sent), 100U);
  }
}

}  // namespace
}  // namespace infold::compress
