// SPDX-License-Identifier: Apache-2.0
//
// Exact formats are never off. A result with one changed bit is off in one element, by one ulp.
#include "study/measure/verify_rounding.h"

#include <gtest/gtest.h>

namespace infold::measure {
namespace {

constexpr int kWorld = 3;

Rounding tally_of(WireFormat wire, DataType type, bool changes_a_bit) {
  RoundingTally tally;
  VerifyCase each = {Collective::all_reduce, type, Reduction::sum, wire, 500};
  each.values = Values::wide;
  const std::vector<std::byte> expected = *expected_of(each, 0, kWorld);
  std::vector<std::byte> got = expected;
  if (changes_a_bit) got[40 * element_bytes(type)] ^= std::byte{1};
  tally.add(each, 0, kWorld, got, expected);
  EXPECT_EQ(tally.all().size(), 1U);
  return tally.all().at({wire, type});
}

TEST(RoundingTally, ExactFormatsAreOffNowhere) {
  for (const DataType type : {DataType::f32, DataType::f16, DataType::bf16, DataType::f64}) {
    for (const WireFormat wire : {WireFormat::automatic, WireFormat::native, WireFormat::digits}) {
      const Rounding rounding = tally_of(wire, type, false);
      EXPECT_EQ(rounding.elements, 500U);
      EXPECT_EQ(rounding.off, 0U);
      EXPECT_EQ(rounding.ulps_most, 0U);
    }
  }
}

TEST(RoundingTally, AChangedBitIsOneUlp) {
  const Rounding rounding = tally_of(WireFormat::native, DataType::f32, true);
  EXPECT_EQ(rounding.off, 1U);
  EXPECT_EQ(rounding.ulps_most, 1U);
  EXPECT_EQ(rounding.share_off(), 1.0 / 500);
}

TEST(RoundingTally, BlocksThatShareAnExponentAreFarOff) {
  const Rounding bfp32 = tally_of(WireFormat::bfp32, DataType::f32, false);
  EXPECT_GT(bfp32.off, 10U);
  EXPECT_GT(bfp32.ulps_most, 1U);
  EXPECT_GT(tally_of(WireFormat::bfp8, DataType::f32, false).ulps_most, bfp32.ulps_most);
}

TEST(RoundingTally, CountsSumsOfFloatsAlone) {
  RoundingTally tally;
  const auto add = [&tally](const VerifyCase& each) {
    const std::vector<std::byte> expected = *expected_of(each, 0, kWorld);
    tally.add(each, 0, kWorld, expected, expected);
  };
  add({Collective::all_reduce, DataType::i32, Reduction::sum, WireFormat::automatic, 5});
  add({Collective::all_reduce, DataType::f32, Reduction::max, WireFormat::automatic, 5});
  add({Collective::broadcast, DataType::f32, Reduction::sum, WireFormat::automatic, 5});
  EXPECT_TRUE(tally.all().empty());
}

}  // namespace
}  // namespace infold::measure
