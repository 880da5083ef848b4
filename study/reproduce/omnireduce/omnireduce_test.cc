// SPDX-License-Identifier: Apache-2.0
//
// Tests the drawn sets, compares with counts by hand, and runs the reproduction on a small scale.
#include "study/reproduce/omnireduce/omnireduce.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "study/reproduce/omnireduce/sparse_sets.h"

namespace infold::reproduce {
namespace {

std::uint64_t bits_of(const std::vector<std::uint32_t>& words) {
  std::uint64_t bits = 0;
  for (const std::uint32_t word : words) bits += static_cast<std::uint64_t>(std::popcount(word));
  return bits;
}

TEST(UnionDensity, IsWhatSomeRankHas) {
  EXPECT_DOUBLE_EQ(union_density(1, 8), 1);
  EXPECT_DOUBLE_EQ(union_density(0, 8), 0);
  EXPECT_DOUBLE_EQ(union_density(0.5, 2), 0.75);
  EXPECT_NEAR(union_density(0.01, 8), 0.0773, 0.0001);
  EXPECT_NEAR(union_density(0.1, 8), 0.5695, 0.0001);
}

// Each block of 256 is eight bits. Every bit of the union belongs to some rank.
TEST(SparseSets, HaveTheirShareAndTheirUnion) {
  const SparseSets sets = draw_sets({.workers = 4, .blocks = 2'000, .density = 0.1, .seed = 3});
  EXPECT_EQ(sets.own_blocks, 200U);
  ASSERT_EQ(sets.own.size(), 4U);
  std::vector<std::uint32_t> joined(sets.own[0].size());
  for (const auto& own : sets.own) {
    EXPECT_EQ(bits_of(own), 8 * 200U);
    for (std::size_t i = 0; i < own.size(); ++i) joined[i] |= own[i];
  }
  EXPECT_EQ(bits_of(joined), 8 * sets.union_blocks);
  EXPECT_NEAR(static_cast<double>(sets.union_blocks) / 2'000, union_density(0.1, 4), 0.03);
  EXPECT_NE(sets.own[0], sets.own[1]);
}

// 2,000 blocks are 500 words of bits. They need one join, followed by a word for each rank.
TEST(SparseSets, AShortSetIsJoinedAtOnce) {
  const SparseSets sets = draw_sets({.workers = 4, .blocks = 2'000, .density = 0.5});
  EXPECT_EQ(sets.join_words, std::vector<std::uint64_t>{504});
}

// 20,000 blocks are 5,000 words, which have one bit each in the 157 words above them. A full set
// has all of these bits.
TEST(SparseSets, ALongSetIsJoinedLevelByLevel) {
  const SparseSets full = draw_sets({.workers = 2, .blocks = 20'000, .density = 1});
  EXPECT_EQ(full.join_words, (std::vector<std::uint64_t>{157 + 2, 5'000}));
  const SparseSets few = draw_sets({.workers = 2, .blocks = 20'000, .density = 0.001});
  ASSERT_EQ(few.join_words.size(), 2U);
  EXPECT_LE(few.join_words[1], 40U);  // 20 blocks of each rank
}

TEST(Omnireduce, KeepsItsVolumesInSmall) {
  const Report report = omnireduce({.blocks = 4'096});
  EXPECT_TRUE(report.wrong.empty());
  EXPECT_TRUE(report.targets[1].is_met) << report.targets[1].text;
  for (const Figure& figure : report.figures) {
    // Times at another size than the authors' have no published figure beside them.
    if (figure.unit == "ms") {
      EXPECT_EQ(figure.basis, Basis::none);
    }
    if (!figure.name.starts_with("sent")) continue;
    EXPECT_GT(figure.ours, figure.theirs) << figure.name;
    EXPECT_LT(figure.ours, 1.2 * figure.theirs) << figure.name;
  }
}

// The lowest density at the authors' size, where fixed costs weigh most, and a higher one.
TEST(Omnireduce, IsEfficientAtTheAuthorsSize) {
  const Report report = omnireduce({.blocks = 102'400, .densities = {0.01, 0.1}});
  for (const Target& target : report.targets) EXPECT_TRUE(target.is_met) << target.text;
  EXPECT_EQ(report.figures.front().basis, Basis::published);
}

}  // namespace
}  // namespace infold::reproduce
