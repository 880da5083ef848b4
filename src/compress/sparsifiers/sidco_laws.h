// SPDX-License-Identifier: Apache-2.0
//
// Laws of how magnitudes are distributed, as in SIDCo (Abdelmoniem 2021). Each law is fitted to
// moments, and then says above which limit a given part of the magnitudes lies.
#pragma once

#include <cstddef>
#include <span>

namespace infold::compress {

// The moments of |x| - shift, over the elements where this is above zero. Zeros are left out,
// because in none of these laws does a single value have a share of the elements.
struct Moments {
  std::size_t count = 0;
  double mean = 0;
  double variance = 0;
};

// Makes one pass over the values.
Moments moments_of(std::span<const float> values, float shift);
// Returns the mean of ln |x| over the elements that are not zero, without taking the logarithm of
// each element.
double mean_log_of(std::span<const float> values);

// Each of these functions returns the limit above which `part` of the elements lie. Requires: 0 <
// part < 1. If the elements are all equal, or there are none, pareto_limit() and gamma_limit()
// return the mean.

// -mean ln(part)
double exponential_limit(const Moments& moments, double part);
// With r = mean^2 / variance, xi = (1 - r) / 2 and beta = mean (1 + r) / 2, the result is beta
// (part^-xi - 1) / xi, or -beta ln(part) for xi = 0.
double pareto_limit(const Moments& moments, double part);
// Fits the shape and the scale of a gamma law to the mean and the mean logarithm. The result is
// exact for that law.
double gamma_limit(const Moments& moments, double mean_log, double part);

}  // namespace infold::compress
