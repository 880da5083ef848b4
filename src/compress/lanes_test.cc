// SPDX-License-Identifier: Apache-2.0
#include "compress/lanes.h"

#include <algorithm>
#include <array>

#include "compress/testing.h"

namespace infold::compress {
namespace {

constexpr std::array<std::uint32_t, 10> kWidths = {1, 2, 3, 4, 5, 6, 8, 10, 16, 32};

// Returns the sums of codes if each rank sends these codes and aggregators add modulo 2^32.
std::vector<std::uint32_t> sums_of_all(const Lanes& lanes, const std::vector<std::uint32_t>& codes,
                                       std::uint32_t world) {
  std::vector<std::uint32_t> integers;
  pack_lanes(lanes, codes.size(), integers, [&](std::size_t first, auto out) {
    std::copy_n(codes.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  });
  for (std::uint32_t& integer : integers) integer *= world;
  std::vector<std::uint32_t> sums;
  unpack_lanes(lanes, integers, codes.size(),
               [&](std::size_t, auto part) { sums.insert(sums.end(), part.begin(), part.end()); });
  return sums;
}

// Tests lanes that all have the largest code, and lanes that alternate between the largest code and
// 0.
void expect_no_carry(std::uint32_t levels, std::uint32_t world) {
  const std::uint64_t most = std::uint64_t{levels} * world;
  const auto lanes = Lanes::fit(levels, world);
  ASSERT_TRUE(lanes.has_value());
  ASSERT_LE(most, (std::uint64_t{1} << lanes->width) - 1);
  ASSERT_EQ(lanes->levels, levels);
  // The test looks at one integer, whose lanes have the codes in order.
  const std::size_t count = numeric::lanes_of_integer(lanes->width);
  for (std::uint32_t pattern = 0; pattern < 3; ++pattern) {
    std::vector<std::uint32_t> codes(count);
    for (std::uint32_t k = 0; k < count; ++k) {
      codes[k] = pattern == 2 || k % 2 == pattern ? levels : 0;
    }
    const std::vector<std::uint32_t> sums = sums_of_all(*lanes, codes, world);
    for (std::uint32_t k = 0; k < count; ++k) {
      ASSERT_EQ(std::uint64_t{sums[k]}, std::uint64_t{codes[k]} * world);
    }
  }
}

TEST(Lanes, ComeBackFromAnyNumberOfElements) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::uint32_t width : kWidths) {
    const auto levels = static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1);
    for (const std::size_t elements : {1, 15, 2047, 2048, 2049, 5000, 6000}) {
      std::vector<std::uint32_t> codes(elements);
      for (std::uint32_t& code : codes) code = static_cast<std::uint32_t>(prng.next()) & levels;
      ASSERT_EQ(sums_of_all({width, levels}, codes, 1), codes) << width << " " << elements;
    }
  }
}

TEST(Lanes, HoldTheSumOfAllRanksInEveryWorld) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (std::uint32_t world = 1; world <= 4096; ++world) {
    SCOPED_TRACE(world);
    for (const std::uint32_t levels : {1, 2, 7, 14, 15, 31, 127, 254, 255, 32767, 65534}) {
      expect_no_carry(levels, world);
    }
    for (int i = 0; i < 8; ++i) {
      expect_no_carry(1 + static_cast<std::uint32_t>(prng.below(65534)), world);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Lanes, AreTheNarrowestThatHoldTheSum) {
  for (std::uint32_t world = 1; world <= 4096; world += 7) {
    for (const std::uint32_t levels : {1, 2, 6, 14, 30, 126, 254, 1000, 65534}) {
      const std::uint64_t most = std::uint64_t{levels} * world;
      const auto lanes = Lanes::fit(levels, world);
      ASSERT_TRUE(lanes.has_value());
      for (const std::uint32_t width : kWidths) {
        if (width >= lanes->width) continue;
        EXPECT_GE(most, std::uint64_t{1} << width) << width;
      }
    }
  }
}

TEST(Lanes, AreRefusedWhere32BitsAreNotEnough) {
  EXPECT_TRUE(Lanes::fit(65535, 65537).has_value());  // 2^32 - 1
  EXPECT_FALSE(Lanes::fit(65536, 65536).has_value());
  EXPECT_FALSE(Lanes::fit(0xFFFFFFFF, 2).has_value());
}

// This is a known defect of 8-bit lanes elsewhere. They divide the range by the ranks, which gives
// 127 / 4 = 31.75 levels. If all ranks round up, the sum is 4 x 32 = 128, which a signed byte does
// not hold.
TEST(Lanes, OfEightBitsHoldTheSumWhenEveryRankRoundsUp) {
  const auto lanes = Lanes::fit(32, 4);
  ASSERT_TRUE(lanes.has_value());
  EXPECT_EQ(lanes->width, 8);
  EXPECT_EQ(sums_of_all(*lanes, {32, 32, 32, 32}, 4), std::vector<std::uint32_t>(4, 128));
  // With 2 x 127 levels, the sum of 4 ranks reaches 1016, so a byte is not enough.
  EXPECT_EQ(Lanes::fit(254, 4)->width, 10);
}

// This is a known defect of 4-bit lanes elsewhere: 7 levels up and down saturate from 8 ranks on.
TEST(Lanes, OfFourBitsAreNotTakenWhereTheySaturate) {
  EXPECT_EQ(Lanes::fit(14, 1)->width, 4);
  for (std::uint32_t world = 2; world <= 64; ++world) {
    EXPECT_GE(std::uint64_t{1} << Lanes::fit(14, world)->width, 14 * world + 1) << world;
  }
  EXPECT_EQ(Lanes::fit(14, 8)->width, 8);
  EXPECT_EQ(Lanes::fit(1, 15)->width, 4);
  EXPECT_EQ(Lanes::fit(1, 16)->width, 5);
}

// Tests the same through a whole method. At some step, all ranks round up elements at or just below
// the largest magnitude, for every width of code and for worlds around the limits of lanes.
TEST(Lanes, OfTheSharedScaleHoldTheSumWhenEveryRankRoundsUp) {
  constexpr std::size_t kElements = 64;
  for (const double bits : {2.0, 3.0, 4.0, 8.0}) {
    for (const std::uint32_t world : {1, 4, 8, 9, 16, 17, 64}) {
      SCOPED_TRACE(testing::Message() << "bits " << bits << " world " << world);
      std::vector<float> tensor(kElements, 1.0F);
      for (std::size_t i = 0; i < kElements; i += 3) tensor[i] = -1.0F;
      for (std::size_t i = 1; i < kElements; i += 3) tensor[i] = 1 - 0x1p-20F;
      RoundTable ranks = make_table(choose("shared", {{"bits", bits}}), {kElements, {}}, world);
      ASSERT_TRUE(ranks.meet(std::vector(world, tensor), {.seed = world}));
      const std::vector<float> mean = ranks.mean_of(0);
      // About once in a million, a rank rounds an element down, so a sum may lack a step or two. A
      // carry between lanes would show as a larger error.
      const double step = 2.0 / (std::pow(2, bits) - 2);
      for (std::size_t i = 0; i < kElements; ++i) {
        EXPECT_NEAR(mean[i], tensor[i], 2 * step / world) << i;
      }
    }
  }
}

}  // namespace
}  // namespace infold::compress
