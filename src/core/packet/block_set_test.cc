// SPDX-License-Identifier: Apache-2.0
#include "core/packet/block_set.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::core {
namespace {

constexpr ElementLayout kF32 = {WireFormat::bfp32, DataType::f32};

bool bit(const std::vector<std::uint32_t>& words, std::uint64_t at) {
  return (words[at / 32] >> (at % 32) & 1) != 0;
}

TEST(BlockSet, IsAnyStretchOfALongerSet) {
  base::Prng prng(3);
  std::vector<std::uint32_t> words(20);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(prng.next());
  for (int i = 0; i < 2000; ++i) {
    const auto blocks = static_cast<std::uint32_t>(1 + prng.below(256));
    const std::uint64_t first = prng.below(words.size() * 32 - blocks + 1);
    const BlockSet set = BlockSet::slice(words.data(), first, blocks);
    std::uint32_t count = 0;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      ASSERT_EQ(set.has(block), bit(words, first + block)) << first << " + " << block;
      count += set.has(block) ? 1 : 0;
    }
    ASSERT_EQ(set.count(), count);
    ASSERT_FALSE(set.reaches_beyond(blocks));
  }
}

TEST(BlockSet, ReadsNoWordThatItDoesNotNeed) {
  const std::vector<std::uint32_t> one = {0x80000001};  // asan would notice a longer read
  EXPECT_EQ(BlockSet::slice(one.data(), 31, 1).count(), 1U);
  EXPECT_EQ(BlockSet::slice(one.data(), 0, 32).count(), 2U);
}

TEST(BlockSet, RunsAreItsStretches) {
  base::Prng prng(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::uint32_t> words(8);
    for (std::uint32_t& word : words) {
      word = static_cast<std::uint32_t>(prng.next() & (prng.chance(0.5) ? ~0ULL : prng.next()));
      if (prng.chance(0.3)) word = prng.chance(0.5) ? 0 : ~0U;
    }
    const BlockSet set = BlockSet::slice(words.data(), 0, 256);
    std::uint32_t covered = 0;
    std::uint32_t end = 0;
    set.for_each_run([&](std::uint32_t first, std::uint32_t blocks) {
      EXPECT_TRUE(covered == 0 || first > end);
      for (std::uint32_t block = first; block < first + blocks; ++block) {
        EXPECT_TRUE(set.has(block));
      }
      covered += blocks;
      end = first + blocks;
    });
    EXPECT_EQ(covered, set.count());
  }
}

TEST(BlockSet, OnlyAChunksLastBlockIsShort) {
  const std::uint32_t words[] = {0b1011};
  const BlockSet set = BlockSet::slice(words, 0, 4);
  EXPECT_EQ(set.element_count(kF32, 128), 96U);
  EXPECT_EQ(set.element_count(kF32, 97), 65U);
  EXPECT_EQ(BlockSet::slice(words, 0, 3).element_count(kF32, 65), 64U);
  EXPECT_EQ(set.payload_bytes(kF32, 97), 4U + 65 * 4);
  EXPECT_TRUE(set.reaches_beyond(3));
  EXPECT_EQ(BlockSet().payload_bytes(kF32, 97), 0U);
}

}  // namespace
}  // namespace infold::core
