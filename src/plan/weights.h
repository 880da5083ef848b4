// SPDX-License-Identifier: Apache-2.0
//
// Turns shares into small whole numbers, by which a stream is striped over sites (core/stripe.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace infold::plan {

struct Weights {
  std::vector<std::uint16_t> weights;  // in the order of the shares, each 0 to 64
  // No site gets more than (1 + excess) times its share. A link's time grows at most as fast as its
  // share, so the busiest link takes at most (1 + excess) times as long as it would with exact
  // shares.
  double excess = 0;
};

// Finds the weights with the least excess among all pattern lengths. A weight of 0 leaves the site
// out. The excess is
//   below 1e-4                            if the shares are in ratios of whole numbers up to 64,
//   (n - 1) / (64 / largest - (n - 1))    at most, for n sites with a share.
// Hence it is below 2 % if no site has more than 1.25 times the mean share; in practice it is less.
// Requires: 1 to 64 shares of at least 0 that sum to 1.
Weights round_to_weights(std::span<const double> shares);

}  // namespace infold::plan
