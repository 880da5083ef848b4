// SPDX-License-Identifier: Apache-2.0
#include "compress/sparsifiers/sidco_laws.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "compress/magnitudes.h"

namespace infold::compress {
namespace {

// A variance below this fraction of the squared mean is only rounding.
constexpr double kLeastVariance = 1e-12;
// From this shape on, the elements of a gamma law are within some percent of its mean.
constexpr double kMostShape = 1000;

// Returns the logarithm of the gamma function, by Stirling's series. std::lgamma() is not used,
// because it writes a variable that all threads share.
double log_gamma(double x) {
  double below = 1;
  for (; x < 20; ++x) below *= x;
  const double square = x * x;
  const double series = (1 - (1 - 2 / (7 * square)) / (30 * square)) / (12 * x);
  return (x - 0.5) * std::log(x) - x + std::log(2 * std::numbers::pi) / 2 + series -
         std::log(below);
}

// Returns the part of a gamma law of this shape and scale 1 that is above x.
double gamma_above(double shape, double x) {
  double term = 1;
  double sum = 1;
  for (int i = 1; i < 10000 && term > 1e-17 * sum; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return 1 - sum * std::exp(shape * std::log(x) - x - log_gamma(shape + 1));
}

// Finds by bisection where gamma_above() is `part`.
double gamma_quantile(double shape, double part) {
  double low = 0;
  double high = shape + 1;
  while (gamma_above(shape, high) > part) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (gamma_above(shape, middle) > part ? low : high) = middle;
  }
  return high;
}

bool is_spread(const Moments& moments) {
  return moments.variance > kLeastVariance * moments.mean * moments.mean;
}

}  // namespace

Moments moments_of(std::span<const float> values, float shift) {
  const numeric::MagnitudeSums sums = sum_magnitudes(values, shift);
  if (sums.count == 0) return {};
  const auto count = static_cast<double>(sums.count);
  const double mean = sums.sum / count;
  return {sums.count, mean, sums.squares / count - mean * mean};
}

// A double is 2^e m with 1 <= m < 2. The loop adds up the exponents and multiplies the values of m,
// of which even 512 have a product that fits in a double.
double mean_log_of(std::span<const float> values) {
  constexpr std::size_t kTogether = 512;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  double logs = 0;
  std::int64_t exponents = 0;
  std::size_t count = 0;
  for (std::size_t first = 0; first < values.size(); first += kTogether) {
    double product = 1;
    for (const float value : values.subspan(first, std::min(kTogether, values.size() - first))) {
      const double magnitude = value == 0 ? 1 : double{std::abs(value)};
      const auto bits = std::bit_cast<std::uint64_t>(magnitude);
      exponents += static_cast<std::int64_t>(bits >> 52) - 1023;
      product *= std::bit_cast<double>((bits & kMantissa) | kOne);
      count += value == 0 ? 0 : 1;
    }
    logs += std::log(product);
  }
  if (count == 0) return 0;
  return (logs + static_cast<double>(exponents) * std::numbers::ln2) / static_cast<double>(count);
}

double exponential_limit(const Moments& moments, double part) {
  return -moments.mean * std::log(part);
}

double pareto_limit(const Moments& moments, double part) {
  if (!is_spread(moments)) return moments.mean;
  const double r = moments.mean * moments.mean / moments.variance;
  const double xi = (1 - r) / 2;
  const double beta = moments.mean * (1 + r) / 2;
  const double power = -xi * std::log(part);
  // (e^power - 1) / power is 1 + power / 2 + ..., so it is 1 if `power` is tiny.
  const double growth = std::abs(power) < 1e-12 ? 1 : std::expm1(power) / power;
  return -beta * std::log(part) * growth;
}

double gamma_limit(const Moments& moments, double mean_log, double part) {
  const double s = std::log(moments.mean) - mean_log;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  if (!is_spread(moments) || !(s > 0) || !(shape < kMostShape)) return moments.mean;
  return moments.mean / shape * gamma_quantile(shape, part);
}

}  // namespace infold::compress
