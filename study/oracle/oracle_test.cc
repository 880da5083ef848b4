// SPDX-License-Identifier: Apache-2.0
//
// Tests the oracle on sums that a person can check, so that it is more than a second program that
// agrees with the first.
#include "study/oracle/oracle.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace infold::oracle {
namespace {

using core::DataType;
using core::WireFormat;

template <typename T>
std::vector<T> reduce(std::vector<std::vector<T>> ranks, core::ElementLayout layout,
                      core::Reduction reduction = core::Reduction::sum, bool agreed = false) {
  Request request;
  request.layout = layout;
  request.reduction = reduction;
  request.agreed = agreed;
  request.world = static_cast<std::uint32_t>(ranks.size());
  request.elements = ranks[0].size();
  for (const auto& rank : ranks) {
    request.inputs.push_back(reinterpret_cast<const std::byte*>(rank.data()));
  }
  std::vector<T> result(ranks[0].size());
  expected_result(request, std::as_writable_bytes(std::span(result)));
  return result;
}

constexpr core::ElementLayout kBfp8{WireFormat::bfp8, DataType::f32};
constexpr core::ElementLayout kBfp32{WireFormat::bfp32, DataType::f32};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Oracle, IntegersWrapAndTruncate) {
  constexpr core::ElementLayout kI8{WireFormat::i8, DataType::i8};
  using Bytes = std::vector<std::int8_t>;
  EXPECT_EQ(reduce<std::int8_t>({{100, -7}, {100, 0}}, kI8), (Bytes{-56, -7}));
  EXPECT_EQ(reduce<std::int8_t>({{1, -7}, {2, 0}}, kI8, core::Reduction::average), (Bytes{1, -3}));
  EXPECT_EQ(reduce<std::int8_t>({{1, -7}, {2, 0}}, kI8, core::Reduction::max), (Bytes{2, 0}));
}

TEST(Oracle, SmallFloatsAddExactly) {
  EXPECT_EQ(reduce<float>({{1.5F, -2}, {0.25F, 2}}, kBfp32), (std::vector<float>{1.75F, 0}));
  EXPECT_EQ(reduce<float>({{1, 5}, {2, 4}}, kBfp32, core::Reduction::average),
            (std::vector<float>{1.5F, 4.5F}));
}

// bfp8 has 7 bits of magnitude. In a block with 100 the unit is 1, and 0.5 is a tie that goes to
// even.
TEST(Oracle, BlocksShareTheirUnit) {
  EXPECT_EQ(reduce<float>({{100, 0.5F, 1.5F, 0.75F}}, kBfp8), (std::vector<float>{100, 0, 2, 1}));
}

// 2^40 and 1 are further apart than a bfp32 lane for two ranks reaches (31 bits). The small one is
// rounded to the large one's floor, which is 2^9 units of 2^0 at code - 31.
TEST(Oracle, ValuesFarApartAreRealigned) {
  const float large = std::ldexp(1.0F, 40);
  const std::vector<float> sum = reduce<float>({{large, 0}, {0, 1}}, kBfp32);
  EXPECT_EQ(sum[0], large);
  EXPECT_EQ(sum[1], 0) << "a unit of the sum is 2^10";
}

TEST(Oracle, SpecialsAreIeeeAdditionAndLeaveNeighboursAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto sum = reduce<float>({{kInfinity, kInfinity, nan, 3}, {1, -kInfinity, 0, 4}}, kBfp32);
  EXPECT_EQ(sum[0], kInfinity);
  EXPECT_TRUE(std::isnan(sum[1]));
  EXPECT_TRUE(std::isnan(sum[2]));
  EXPECT_EQ(sum[3], 7);
}

TEST(Oracle, OverflowIsInfinity) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(reduce<float>({{most, 1}, {most, 1}}, kBfp32)[0], kInfinity);
}

TEST(Oracle, MinAndMaxOrderZerosAndPreferNan) {
  constexpr core::ElementLayout kPlain{WireFormat::i32, DataType::f32};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto least = reduce<float>({{0.0F, nan, 2}, {-0.0F, 1, -3}}, kPlain, core::Reduction::min);
  EXPECT_TRUE(std::signbit(least[0]));
  EXPECT_TRUE(std::isnan(least[1]));
  EXPECT_EQ(least[2], -3);
}

TEST(Oracle, AgreedExponentsKeepRoomForAllRanks) {
  constexpr core::ElementLayout kAgreed{WireFormat::i32, DataType::f32};
  const auto sum =
      reduce<float>({{1, 0.25F, kInfinity}, {3, 0.5F, 1}}, kAgreed, core::Reduction::sum, true);
  EXPECT_EQ(sum[0], 4);
  EXPECT_EQ(sum[1], 0.75F);
  EXPECT_EQ(sum[2], kInfinity);
}

}  // namespace
}  // namespace infold::oracle
