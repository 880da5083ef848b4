// SPDX-License-Identifier: Apache-2.0
//
// Striping gives every chunk to exactly one site, and gives each site its share.
#include "core/stripe.h"

#include <array>
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
    Stripe::Cursor cursor;
    for (std::uint64_t sequence = 0; sequence < 4ULL * weights[site]; ++sequence) {
      const std::uint64_t chunk = stripe.chunk_at(site, cursor);
      EXPECT_EQ(stripe.place_of(chunk).site, site);
      EXPECT_EQ(stripe.place_of(chunk).before, sequence);
      EXPECT_EQ(stripe.count_before(site, cursor), sequence);
      stripe.step(site, cursor);
      EXPECT_TRUE(site_of.emplace(chunk, site).second) << "chunk " << chunk << " has two sites";
      EXPECT_TRUE(sequence == 0 || chunk > last);
      last = chunk;
    }
  }
  EXPECT_EQ(site_of.size(), 4 * period);
  EXPECT_EQ(site_of.rbegin()->first, 4 * period - 1);
}

TEST(Stripe, CountsAChunkForItsSiteAlone) {
  const Stripe stripe(std::vector<std::uint16_t>{3, 1, 2, 5});
  std::array<std::uint64_t, 4> counts{};
  for (std::uint64_t chunk = 0; chunk < 50; ++chunk) {
    for (std::uint32_t site = 0; site < counts.size(); ++site) {
      EXPECT_EQ(stripe.count_before(site, chunk), counts[site]);
    }
    ++counts[stripe.place_of(chunk).site];
  }
}

std::vector<std::uint64_t> first_chunks(const Stripe& stripe, std::uint32_t site) {
  std::vector<std::uint64_t> chunks;
  for (Stripe::Cursor cursor; chunks.size() < 6; stripe.step(site, cursor)) {
    chunks.push_back(stripe.chunk_at(site, cursor));
  }
  return chunks;
}

using Chunks = std::vector<std::uint64_t>;

TEST(Stripe, OneSiteTakesAll) {
  const Stripe stripe(std::vector<std::uint16_t>{7});
  EXPECT_EQ(first_chunks(stripe, 0), (Chunks{0, 1, 2, 3, 4, 5}));
}

TEST(Stripe, WeightsAreSharesNotCounts) {
  const Stripe few(std::vector<std::uint16_t>{1, 2});
  const Stripe many(std::vector<std::uint16_t>{16, 32});
  EXPECT_EQ(first_chunks(few, 0), first_chunks(many, 0));
  EXPECT_EQ(first_chunks(few, 1), first_chunks(many, 1));
  EXPECT_EQ(first_chunks(few, 0), (Chunks{1, 4, 7, 10, 13, 16}));
}

TEST(Stripe, EqualSitesTakeTurns) {
  const Stripe stripe(std::vector<std::uint16_t>{5, 5, 5});
  EXPECT_EQ(first_chunks(stripe, 0), (Chunks{0, 3, 6, 9, 12, 15}));
  EXPECT_EQ(first_chunks(stripe, 2), (Chunks{2, 5, 8, 11, 14, 17}));
}

}  // namespace
}  // namespace infold::core
