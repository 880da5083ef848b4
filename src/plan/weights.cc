// SPDX-License-Identifier: Apache-2.0
//
// A pattern of N chunks has the least excess if each chunk in turn goes to the site that it raises
// least above its share (the method of Jefferson and d'Hondt). The choices for N begin with the
// choices for N - 1, so one pass over N sees the best pattern of every length.
#include "plan/weights.h"

#include <limits>

#include "base/check.h"
#include "core/stripe.h"

namespace infold::plan {
namespace {

// A longer pattern must be better by at least this much, because a shorter one spreads the first
// chunks of a tensor more evenly over the sites.
constexpr double kWorthLonger = 1e-4;

}  // namespace

Weights round_to_weights(std::span<const double> shares) {
  CHECK(!shares.empty());
  CHECK_THAT(shares.size(), <=, core::Stripe::kSitesMax);
  std::vector<std::uint16_t> weights(shares.size());
  Weights best;
  best.excess = std::numeric_limits<double>::infinity();
  for (std::uint32_t length = 1;; ++length) {
    std::size_t taker = shares.size();
    double length_at_share = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] <= 0) continue;
      const double reached = (weights[i] + 1) / shares[i];
      if (reached < length_at_share) {
        length_at_share = reached;
        taker = i;
      }
    }
    CHECK(taker < shares.size());
    if (weights[taker] == core::Stripe::kWeightMax) return best;
    ++weights[taker];
    // The site that takes this chunk is now the one furthest above its share, because
    // `length_at_share` never falls from chunk to chunk.
    const double excess = length_at_share / length - 1;
    if (excess < best.excess - kWorthLonger) best = {weights, excess < 0 ? 0 : excess};
  }
}

}  // namespace infold::plan
