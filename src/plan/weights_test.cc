// SPDX-License-Identifier: Apache-2.0
//
// Measures how far whole weights deviate from their shares, in the bytes that a link carries.
#include "plan/weights.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/stripe.h"

namespace infold::plan {
namespace {

using testing::ElementsAre;

std::vector<double> normalised(std::vector<double> shares) {
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

double pattern_of(const Weights& rounded) {
  return std::accumulate(rounded.weights.begin(), rounded.weights.end(), 0.0);
}

TEST(Weights, EqualSharesAreOnes) {
  EXPECT_THAT(round_to_weights(normalised({3, 3, 3})).weights, ElementsAre(1, 1, 1));
  EXPECT_THAT(round_to_weights(normalised({1})).weights, ElementsAre(1));
  EXPECT_THAT(round_to_weights(std::vector<double>(64, 1.0 / 64)).weights,
              testing::Each(std::uint16_t{1}));
}

TEST(Weights, WholeRatiosAreKept) {
  EXPECT_THAT(round_to_weights(normalised({28, 8, 8})).weights, ElementsAre(7, 2, 2));
  EXPECT_THAT(round_to_weights(normalised({64, 1})).weights, ElementsAre(64, 1));
  EXPECT_THAT(round_to_weights(normalised({61, 59, 0, 53})).weights, ElementsAre(61, 59, 0, 53));
}

// The small site's weight would be below 1, so the other site takes its share as well.
TEST(Weights, ATinySiteIsLeftOut) {
  const Weights rounded = round_to_weights(normalised({1000, 1}));
  EXPECT_THAT(rounded.weights, ElementsAre(1, 0));
  EXPECT_NEAR(rounded.excess, 0.001, 1e-9);
}

// Compares the weights with BytePS's shares for n workers and k hosts. They differ by at most
// 1/10000, although 2 % would be good enough.
TEST(Weights, AreExactForBytePS) {
  for (std::uint32_t n = 2; n <= 33; ++n) {
    for (std::uint32_t k = 0; k <= std::min(n, 31U); ++k) {
      std::vector<double> shares(k, 2.0 * (n - 1));
      shares.insert(shares.end(), n, 1.0 * (n - k));
      shares = normalised(shares);
      const Weights rounded = round_to_weights(shares);
      EXPECT_LE(rounded.excess, 1e-4);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        EXPECT_NEAR(rounded.weights[i] / pattern_of(rounded), shares[i], 1e-4 * shares[i])
            << n << " workers, " << k << " hosts, site " << i;
      }
    }
  }
}

TEST(Weights, StripeGivesEachSiteItsWeightsShare) {
  const std::vector<double> shares = normalised({100, 40, 25, 10, 10});
  const Weights rounded = round_to_weights(shares);
  const core::Stripe stripe(rounded.weights);
  constexpr std::uint64_t kChunks = 71'023;  // 100 MB of f32
  for (std::uint32_t site = 0; site < shares.size(); ++site) {
    std::uint64_t count = 0;
    for (core::Stripe::Cursor cursor; stripe.chunk_at(site, cursor) < kChunks; ++count) {
      stripe.step(site, cursor);
    }
    EXPECT_NEAR(static_cast<double>(count) / kChunks, shares[site], 0.02 * shares[site]);
  }
}

double bound(const std::vector<double>& shares) {
  const auto others = static_cast<double>(shares.size()) - 1;
  const double largest = *std::max_element(shares.begin(), shares.end());
  return std::max(1e-4, others / (64 / largest - others));
}

TEST(WeightsProperty, ExcessIsTrueAndBounded) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    base::Prng prng(seed);
    std::vector<double> shares(1 + prng.below(64));
    for (double& share : shares) share = 0.01 + prng.uniform() * (prng.below(4) == 0 ? 20 : 1);
    shares = normalised(shares);
    const Weights rounded = round_to_weights(shares);
    double excess = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_LE(rounded.weights[i], core::Stripe::kWeightMax) << "seed " << seed;
      excess = std::max(excess, rounded.weights[i] / pattern_of(rounded) / shares[i] - 1);
    }
    EXPECT_NEAR(rounded.excess, excess, 1e-9) << "seed " << seed;
    EXPECT_LE(rounded.excess, bound(shares) + 1e-9) << "seed " << seed;
  }
}

// The rates of the sites lie within a factor of two of each other.
TEST(WeightsProperty, SimilarSitesAreWithinTwoPercent) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    base::Prng prng(seed);
    std::vector<double> shares(2 + prng.below(63));
    for (double& share : shares) share = 1 + prng.uniform();
    EXPECT_LE(round_to_weights(normalised(shares)).excess, 0.02) << "seed " << seed;
  }
}

}  // namespace
}  // namespace infold::plan
