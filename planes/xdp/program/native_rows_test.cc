// SPDX-License-Identifier: Apache-2.0
//
// Tests the tables that choose a float's row: each entry gives the float's value, and 256 floats
// fit.
#include "planes/xdp/program/native_rows.h"

#include <bit>
#include <span>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/exact/float_bits.h"

namespace infold::xdp {
namespace {

struct Shape {
  int unit_exponent;
  int row_bits;
  std::uint32_t row_bytes;
  std::uint32_t last_row;
};

template <typename Format>
void expect_values(std::span<const infold_xdp_scale> scales, const Shape& shape) {
  using Bits = typename Format::Bits;
  base::Prng prng(1);
  for (std::size_t entry = 0; entry < scales.size(); ++entry) {
    const infold_xdp_scale& scale = scales[entry];
    EXPECT_EQ(scale.at % shape.row_bytes, 0U);
    const std::uint32_t row = scale.at / shape.row_bytes;
    const auto field = static_cast<Bits>(entry << Format::kFractionBits);
    if (core::is_special<Format>(field)) {
      EXPECT_EQ(row, shape.last_row);
      const bool is_negative = (field & Format::kSign) != 0;
      EXPECT_EQ(scale.addend, is_negative ? std::int64_t{1} << INFOLD_XDP_MINUS_AT : 1);
      EXPECT_EQ(scale.factor, std::int64_t{1} << INFOLD_XDP_FRACTIONS_AT);
      continue;
    }
    ASSERT_LT(row, shape.last_row);
    constexpr std::uint64_t kMost = (std::uint64_t{1} << Format::kFractionBits) - 1;
    for (const std::uint64_t fraction : {std::uint64_t{0}, kMost, prng.next() & kMost}) {
      const core::ExactFloat value =
          core::unpack<Format>(static_cast<Bits>(field | static_cast<Bits>(fraction)));
      const std::int64_t word = static_cast<std::int64_t>(fraction) * scale.factor + scale.addend;
      const auto magnitude = static_cast<std::uint64_t>(word < 0 ? -word : word);
      const int up = value.exponent - shape.unit_exponent - static_cast<int>(row) * shape.row_bits;
      ASSERT_TRUE(up >= 0 && up < shape.row_bits) << entry;
      EXPECT_EQ(magnitude, value.significand << up) << entry;
      EXPECT_TRUE(magnitude == 0 || (word < 0) == value.negative) << entry;
      EXPECT_LT(magnitude, std::uint64_t{1} << 55) << "256 of them have less than 64 bits";
    }
  }
}

TEST(Rows, EveryEntryMakesTheFloatsValue) {
  const RowLayout layout = RowLayout::of(1472, 1472);
  EXPECT_EQ(layout.words[0], 384U);
  EXPECT_EQ(layout.words[1], 736U);
  EXPECT_EQ(layout.copy_bytes(), 8 * 7 * 736U);
  const infold_xdp_scales scales = make_scales(layout);
  expect_values<core::F32>(scales.f32, {-149, 32, 8 * 384, 8});
  expect_values<core::Bf16>(scales.bf16, {-133, 48, 8 * 736, 6});
  expect_values<core::F16>(scales.f16, {-24, 64, 8 * 736, 1});
}

TEST(Rows, AreAsLongAsTheShorterLimit) {
  const RowLayout layout = RowLayout::of(INFOLD_XDP_DATAGRAM_BYTES_MAX, 64);
  EXPECT_EQ(layout.words[0], 64U);
  EXPECT_EQ(layout.words[1], 64U);
  EXPECT_EQ(layout.copy_bytes(), 8 * 9 * 64U);
}

}  // namespace
}  // namespace infold::xdp
