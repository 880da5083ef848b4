// SPDX-License-Identifier: Apache-2.0
//
// Tests the digits of given numbers. src/encoding/digits_test.cc tests the sums.
#include "numeric/adders/digits.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "numeric/codec.h"

namespace infold::numeric {
namespace {

using core::DataType;

template <typename T>
DigitRange range_of(DataType dtype, const std::vector<T>& x) {
  return digit_loops(dtype).find_range(reinterpret_cast<const std::byte*>(x.data()),
                                       static_cast<std::uint32_t>(x.size()));
}

template <typename T>
std::vector<std::int32_t> slice_of(DataType dtype, const std::vector<T>& x, const DigitGroup& group,
                                   std::uint32_t slice) {
  std::vector<std::int32_t> integers(x.size());
  write_slice(dtype, reinterpret_cast<const std::byte*>(x.data()),
              static_cast<std::uint32_t>(x.size()), group, slice,
              reinterpret_cast<std::byte*>(integers.data()));
  return integers;
}

TEST(Digits, OfAllRanksFit32Bits) {
  for (std::uint32_t world = 1; world <= kDigitWorldMax; ++world) {
    const std::int64_t largest = (std::int64_t{1} << digit_bits(world)) - 1;
    EXPECT_LT(world * largest, std::int64_t{1} << 31);
    EXPECT_GE(world * (2 * largest + 1), std::int64_t{1} << 30) << "a bit is left unused";
  }
}

TEST(Digits, ReachFromTheSmallestNumberToTheLargest) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(range_of<float>(DataType::f32, {0.0F, kLeast, -kMost}), (DigitRange{0, 277, false}));
  constexpr double kMostDouble = std::numeric_limits<double>::max();
  constexpr double kLeastDouble = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(range_of<double>(DataType::f64, {kMostDouble, kLeastDouble}),
            (DigitRange{0, 2098, false}));
  EXPECT_EQ(range_of<std::uint16_t>(DataType::f16, {0x7BFF, 0x8001}), (DigitRange{0, 40, false}));
  EXPECT_EQ(range_of<std::uint16_t>(DataType::bf16, {0xFF7F, 0x0001}), (DigitRange{0, 261, false}));
  for (const DataType dtype : {DataType::f32, DataType::f16, DataType::bf16, DataType::f64}) {
    EXPECT_EQ(digit_range_of(dtype).low, 0U);
    EXPECT_TRUE(digit_range_of(dtype).special);
  }
  EXPECT_EQ(digit_range_of(DataType::f32).top, 277U);
  EXPECT_EQ(digit_range_of(DataType::f64).top, 2098U);
  EXPECT_EQ(digit_range_of(DataType::f16).top, 40U);
  EXPECT_EQ(digit_range_of(DataType::bf16).top, 261U);
}

TEST(Digits, RangesKnowZerosAndSpecials) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(range_of<float>(DataType::f32, {0.0F, -0.0F}), DigitRange());
  EXPECT_EQ(range_of<float>(DataType::f32, {}), DigitRange());
  EXPECT_EQ(range_of<float>(DataType::f32, {0.0F, -kInfinity}), (DigitRange{0, 0, true}));
  EXPECT_EQ(range_of<float>(DataType::f32, {5.0F, std::nanf(""), -8.0F}),
            (DigitRange{149, 153, true}));
  // One number lies inside a vector, and one after the last whole vector.
  std::vector<float> many(67, 3.0F);
  many[17] = 0.5F;
  many[66] = 1024.0F;
  EXPECT_EQ(range_of(DataType::f32, many), (DigitRange{148, 160, false}));
  many[9] = std::nanf("");
  EXPECT_TRUE(range_of(DataType::f32, many).special);
}

TEST(Digits, ARangeOfZerosJoinsNothing) {
  const DigitRange some = {3, 9, false};
  EXPECT_EQ(joined(some, {}), some);
  EXPECT_EQ(joined({}, some), some);
  EXPECT_EQ(joined(some, {0, 0, true}), (DigitRange{3, 9, true}));
  EXPECT_EQ(joined(some, {5, 20, false}), (DigitRange{3, 20, false}));
}

TEST(Digits, AreNeighbouringBitsWithTheNumbersSign) {
  // Slices of 4 bits cut 0x2F1 into 1, 15 and 2.
  const std::vector<float> x = {753.0F, -753.0F, 0.0F, -std::numeric_limits<float>::infinity()};
  const DigitGroup group = {{149, 159, true}, 4};
  EXPECT_EQ(group.slices(), 3U);
  EXPECT_EQ(group.integers(), 4U);
  EXPECT_EQ(slice_of(DataType::f32, x, group, 0), (std::vector<std::int32_t>{1, -1, 0, 0}));
  EXPECT_EQ(slice_of(DataType::f32, x, group, 1), (std::vector<std::int32_t>{15, -15, 0, 0}));
  EXPECT_EQ(slice_of(DataType::f32, x, group, 2), (std::vector<std::int32_t>{2, -2, 0, 0}));
  EXPECT_EQ(slice_of(DataType::f32, x, group, 3), (std::vector<std::int32_t>{0, 0, 0, 1024}));
}

TEST(Digits, CountInfinitiesAndNan) {
  const DigitGroup group = {{0, 0, true}, 22};
  const auto float_of = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const std::vector<float> x = {float_of(0x7F800000), float_of(0xFF800000), float_of(0x7F800001),
                                float_of(0xFFFFFFFF), 1.0F};
  EXPECT_EQ(slice_of(DataType::f32, x, group, 0),
            (std::vector<std::int32_t>{1, 1024, 1025, 1025, 0}));
  // All 511 ranks have the same elements.
  std::vector<std::int32_t> sums = {511, 511 * 1024, 511 * 1025, 510, 0};
  sums[3] += 1024;
  std::vector<std::uint32_t> result(sums.size(), 7);
  round_digits(DataType::f32, group, reinterpret_cast<const std::byte*>(sums.data()), 5, 511,
               reinterpret_cast<std::byte*>(result.data()));
  EXPECT_EQ(result,
            (std::vector<std::uint32_t>{0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000, 0}));
}

}  // namespace
}  // namespace infold::numeric
