// SPDX-License-Identifier: Apache-2.0
#include "compress/sparsifiers/sidco_laws.h"

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

TEST(SidcoLaws, MomentsAreThoseOfPlainLoops) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::size_t elements : {1, 7, 8, 9, 5003}) {
    std::vector<float> tensor = draw_tensor(prng, elements);
    for (std::size_t i = 3; i < elements; i += 5) tensor[i] = 0;
    for (const float shift : {0.0F, 0.7F}) {
      long double count = 0;
      long double sum = 0;
      for (const float value : tensor) {
        const long double over = std::abs(static_cast<long double>(value)) - shift;
        count += over > 0 ? 1 : 0;
        sum += std::max(over, 0.0L);
      }
      const long double mean = count > 0 ? sum / count : 0;
      long double squares = 0;
      for (const float value : tensor) {
        const long double over = std::abs(static_cast<long double>(value)) - shift;
        if (over > 0) squares += (over - mean) * (over - mean);
      }
      const Moments moments = moments_of(tensor, shift);
      EXPECT_EQ(static_cast<long double>(moments.count), count);
      EXPECT_NEAR(moments.mean, static_cast<double>(mean), 1e-9 * moments.mean);
      const double variance = count > 0 ? static_cast<double>(squares / count) : 0;
      EXPECT_NEAR(moments.variance, variance, 1e-9 * (variance + moments.mean * moments.mean));
    }
  }
}

TEST(SidcoLaws, MeanLogIsThatOfLogarithms) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  std::vector<float> tensor = draw_tensor(prng, 3000, 10);
  tensor[5] = std::numeric_limits<float>::denorm_min();
  tensor[6] = std::numeric_limits<float>::max();
  double sum = 0;
  for (const float value : tensor) sum += std::log(std::abs(double{value}));
  EXPECT_NEAR(mean_log_of(tensor), sum / 3000, 1e-9 * std::abs(sum));
  tensor.resize(6000);  // zeros change nothing
  EXPECT_NEAR(mean_log_of(tensor), sum / 3000, 1e-9 * std::abs(sum));
}

// Takes the moments of each law, and compares the limit with the inverse of its distribution.
TEST(SidcoLaws, LimitsAreExactForTheirLaws) {
  for (const double part : {0.5, 0.25, 0.01, 1e-6}) {
    EXPECT_NEAR(exponential_limit({1, 3, 9}, part), -3 * std::log(part), 1e-12);
    // A generalised Pareto law has mean beta / (1 - xi) and variance beta^2 / ((1 - xi)^2 (1 - 2
    // xi)).
    for (const double xi : {-1.0, -0.3, 0.0, 1e-9, 0.2, 0.4}) {
      const double beta = 2;
      const double mean = beta / (1 - xi);
      const double limit = pareto_limit({1, mean, mean * mean / (1 - 2 * xi)}, part);
      const double above =
          xi == 0 ? std::exp(-limit / beta) : std::pow(1 + xi * limit / beta, -1 / xi);
      EXPECT_NEAR(above, part, 1e-6 * part) << xi;
    }
  }
}

// The part of a gamma law of scale 1 above x is e^-x for shape 1, (1 + x) e^-x for shape 2, and
// erfc(sqrt x) for shape 1/2. The shape that is fitted to the mean logarithm is only within 1.5 %,
// so the limit is compared with the law of the fitted shape.
TEST(SidcoLaws, GammaLimitIsExact) {
  const auto limit_of = [](double shape, double part) {
    // Solves the formula of the shape for s by bisection, because the shape falls as s grows.
    double low = 1e-6;
    double high = 100;
    for (int i = 0; i < 200; ++i) {
      const double s = (low + high) / 2;
      const double fit = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
      (fit > shape ? low : high) = s;
    }
    return gamma_limit({1, shape, shape}, std::log(shape) - low, part);
  };
  for (const double part : {0.7, 0.25, 0.01, 1e-5}) {
    EXPECT_NEAR(std::exp(-limit_of(1, part)), part, 1e-6 * part);
    const double two = limit_of(2, part);
    EXPECT_NEAR((1 + two) * std::exp(-two), part, 1e-6 * part);
    EXPECT_NEAR(std::erfc(std::sqrt(limit_of(0.5, part))), part, 1e-6 * part);
  }
}

TEST(SidcoLaws, EqualElementsAndNoneGiveTheirMean) {
  for (const double variance : {0.0, -1e-20}) {
    EXPECT_EQ(pareto_limit({10, 3, variance}, 0.1), 3);
    EXPECT_EQ(gamma_limit({10, 3, variance}, std::log(3), 0.1), 3);
  }
  EXPECT_EQ(pareto_limit({}, 0.1), 0);
  EXPECT_EQ(moments_of({}, 0).count, 0U);
  EXPECT_EQ(moments_of(std::vector<float>(20), 0).count, 0U);
}

}  // namespace
}  // namespace infold::compress
