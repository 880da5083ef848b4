// SPDX-License-Identifier: Apache-2.0
//
// Laws of how magnitudes are distributed, as in SIDCo (Abdelmoniem 2021). Each law is fitted to
// moments, and then says above which limit a part of the magnitudes lies.
#pragma once

#include <cstddef>
#include <span>

namespace infold::codec {

// Of |x| - shift, for the elements where this is above zero. Zeros are left out, because no law
// has a part of its elements at one place.
struct Moments {
  std::size_t count = 0;
  double mean = 0;
  double variance = 0;
};

// One pass over the values.
Moments moments_of(std::span<const float> values, float shift);
// The mean of ln |x|, of the elements that are not zero. It takes no logarithm of an element.
double mean_log_of(std::span<const float> values);

// The part of the elements above the result is `part`. Requires: 0 < part < 1. Moments of equal
// elements, or of none, give their mean.

// -mean ln(part)
double exponential_limit(const Moments& moments, double part);
// With r = mean^2 / variance, xi = (1 - r) / 2 and beta = mean (1 + r) / 2, it is
// beta (part^-xi - 1) / xi, and -beta ln(part) for xi = 0.
double pareto_limit(const Moments& moments, double part);
// The shape a and the scale of a gamma law are fitted to the mean and the mean logarithm. The
// result is exact for that law.
double gamma_limit(const Moments& moments, double mean_log, double part);

}  // namespace infold::codec
