// SPDX-License-Identifier: Apache-2.0
//
// Compares unpacking and rounding of floats with the processor's own conversions.
#include "core/exact/float_bits.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::core {
namespace {

double value_of(ExactFloat exact) {
  const double magnitude = std::ldexp(static_cast<double>(exact.significand), exact.exponent);
  return exact.negative ? -magnitude : magnitude;
}

TEST(FloatBits, RoundShiftGoesToTheNearestAndAtTiesToEven) {
  EXPECT_EQ(round_shift(5, 1), 2U);   // 2.5
  EXPECT_EQ(round_shift(7, 1), 4U);   // 3.5
  EXPECT_EQ(round_shift(11, 2), 3U);  // 2.75
  EXPECT_EQ(round_shift(9, 2), 2U);   // 2.25
  EXPECT_EQ(round_shift(3, -4), 48U);
  EXPECT_EQ(round_shift(std::uint64_t{1} << 62, 63), 0U);        // 0.5
  EXPECT_EQ(round_shift((std::uint64_t{1} << 62) + 1, 63), 1U);  // a little more
  EXPECT_EQ(round_shift(~std::uint64_t{0} >> 1, 64), 0U);
}

TEST(FloatBits, UnpackIsExactForF32AndF64) {
  base::Prng prng(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(prng.next());
    if (!is_special<F32>(bits)) {
      EXPECT_EQ(value_of(unpack<F32>(bits)), static_cast<double>(std::bit_cast<float>(bits)));
    }
    const std::uint64_t wide = prng.next();
    if (!is_special<F64>(wide)) {
      EXPECT_EQ(value_of(unpack<F64>(wide)), std::bit_cast<double>(wide));
    }
  }
}

TEST(FloatBits, PackRoundsDoublesToF32AsTheProcessorDoes) {
  base::Prng prng(2);
  for (int i = 0; i < 200'000; ++i) {
    // The exponents are near f32's limits, so that subnormal results, ties and overflows all occur.
    const std::uint64_t exponent = 1023 - 160 + prng.below(300);
    std::uint64_t bits = prng.next() >> 63 << 63 | exponent << 52 | prng.next() >> 12;
    if (prng.chance(0.3)) bits &= ~std::uint64_t{0} << 28;
    const auto expected =
        std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    EXPECT_EQ(pack<F32>(unpack<F64>(bits)), expected) << std::hex << bits;
  }
}

template <typename Format>
void expect_every_value_returns() {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    if (is_special<Format>(bits)) continue;
    EXPECT_EQ(pack<Format>(unpack<Format>(bits)), bits);
  }
}

TEST(FloatBits, EveryF16AndBf16IsUnpackedAndPackedAgain) {
  expect_every_value_returns<F16>();
  expect_every_value_returns<Bf16>();
}

// A tie between two neighbours is rounded to the even one. A value slightly below or above the tie
// goes to the nearer one.
template <typename Format>
void expect_ties_to_even() {
  for (std::uint32_t i = 0; i < Format::kInfinity; ++i) {
    const auto below = static_cast<std::uint16_t>(i);
    const ExactFloat lower = unpack<Format>(below);
    const int exponent = lower.significand == 0 ? Format::kExponentMin : lower.exponent;
    const ExactFloat tie = {false, 8 * lower.significand + 4, exponent - 3};
    const auto above = static_cast<std::uint16_t>(i + 1);
    EXPECT_EQ(pack<Format>(tie), i % 2 == 0 ? below : above);
    EXPECT_EQ(pack<Format>({false, tie.significand - 1, tie.exponent}), below);
    EXPECT_EQ(pack<Format>({false, tie.significand + 1, tie.exponent}), above);
  }
}

TEST(FloatBits, TiesGoToEvenThroughTheWholeRange) {
  expect_ties_to_even<F16>();
  expect_ties_to_even<Bf16>();
}

TEST(FloatBits, PackKeepsTheSignOfValuesThatItRoundsToZero) {
  EXPECT_EQ(pack<F32>({true, 1, -400}), F32::kSign);
  EXPECT_EQ(pack<F32>({true, 1, 400}), F32::kSign | F32::kInfinity);
}

}  // namespace
}  // namespace infold::core
