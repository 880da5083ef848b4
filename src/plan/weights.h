// SPDX-License-Identifier: Apache-2.0
//
// Shares as the small whole numbers by which a stream is striped over sites (core/stripe.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace infold::plan {

struct Weights {
  std::vector<std::uint16_t> weights;  // as shares, each at most 64; 0: leave the site out
  // No site gets more than 1 + excess of its share, and since no link is busy for longer than its
  // share's growth, the busiest link takes at most 1 + excess of its time.
  double excess = 0;
};

// Finds, among all pattern lengths, the weights with the least excess, which is
//   below 1e-4                            where shares relate as whole numbers up to 64,
//   (n - 1) / (64 / largest - (n - 1))    at most, for n sites with a share.
// So it is below 2 % where no site has more than 1.25 times the mean share; in practice it is less.
// Requires: 1 to 64 shares of at least 0 that sum to 1.
Weights round_to_weights(std::span<const double> shares);

}  // namespace infold::plan
