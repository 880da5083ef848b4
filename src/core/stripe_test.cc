// SPDX-License-Identifier: Apache-2.0
//
// Striping gives every chunk to exactly one site, and each site its share.
#include "core/stripe.h"

#include <map>

#include <gtest/gtest.h>

namespace infold::core {
namespace {

TEST(Stripe, EveryChunkHasOneSiteInOrder) {
  const std::vector<std::uint16_t> weights = {3, 1, 2, 64, 5};
  const Stripe stripe(weights);
  const std::uint64_t period = 75;
  std::map<std::uint64_t, std::uint32_t> site_of;
  for (std::uint32_t site = 0; site < weights.size(); ++site) {
    std::uint64_t last = 0;
    for (std::uint64_t sequence = 0; sequence < 4ULL * weights[site]; ++sequence) {
      const std::uint64_t chunk = stripe.chunk_at(site, sequence);
      EXPECT_TRUE(site_of.emplace(chunk, site).second) << "chunk " << chunk << " has two sites";
      EXPECT_TRUE(sequence == 0 || chunk > last);
      last = chunk;
    }
  }
  EXPECT_EQ(site_of.size(), 4 * period);
  EXPECT_EQ(site_of.rbegin()->first, 4 * period - 1);
}

TEST(Stripe, OneSiteTakesAll) {
  const Stripe stripe(std::vector<std::uint16_t>{7});
  for (std::uint64_t chunk = 0; chunk < 20; ++chunk) EXPECT_EQ(stripe.chunk_at(0, chunk), chunk);
}

TEST(Stripe, WeightsAreSharesNotCounts) {
  const Stripe few(std::vector<std::uint16_t>{1, 2});
  const Stripe many(std::vector<std::uint16_t>{16, 32});
  for (std::uint64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(few.chunk_at(0, i), many.chunk_at(0, i));
    EXPECT_EQ(few.chunk_at(1, i), many.chunk_at(1, i));
  }
}

TEST(Stripe, EqualSitesTakeTurns) {
  const Stripe stripe(std::vector<std::uint16_t>{5, 5, 5});
  for (std::uint32_t site = 0; site < 3; ++site) {
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(stripe.chunk_at(site, i), i * 3 + site);
  }
}

}  // namespace
}  // namespace infold::core
