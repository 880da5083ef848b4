// SPDX-License-Identifier: Apache-2.0
//
// Tests the results of the scalar loops that compress a tensor, and that the loops of each
// instruction set give the same bits.
#include "numeric/codes/code_loops.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"
#include "numeric/codes/counter_bits.h"

namespace infold::numeric {
namespace {

constexpr std::array<std::uint32_t, 10> kWidths = {1, 2, 3, 4, 5, 6, 8, 10, 16, 32};
constexpr std::array<Side, 3> kSides = {Side::both, Side::above, Side::below};

// Draws every kind of float. Most are close to each other in size, so that sums and codes differ.
std::vector<float> draw_floats(base::Prng& prng, std::size_t count, bool only_finite) {
  std::vector<float> x(count);
  for (float& value : x) {
    value = static_cast<float>(prng.between(-1000, 1000)) / 256;
    if (prng.below(8) != 0) continue;
    value = std::bit_cast<float>(static_cast<std::uint32_t>(prng.next()));
    if (only_finite && !std::isfinite(value)) value = -0.0F;
  }
  return x;
}

std::vector<std::uint32_t> draw_codes(base::Prng& prng, std::size_t count, std::uint32_t width) {
  std::vector<std::uint32_t> codes(count);
  for (std::uint32_t& code : codes) {
    code = static_cast<std::uint32_t>(prng.next() & ((std::uint64_t{1} << width) - 1));
  }
  return codes;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& x) {
  std::vector<std::uint32_t> bits(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) bits[i] = std::bit_cast<std::uint32_t>(x[i]);
  return bits;
}

std::vector<std::uint32_t> pack(const CodeLoops& loops, const std::vector<std::uint32_t>& codes,
                                std::uint32_t width) {
  std::vector<std::uint32_t> integers(packed_integers(codes.size(), width), 0xDEADBEEF);
  loops.pack(codes.data(), codes.size(), width, integers.data());
  return integers;
}

std::vector<std::uint32_t> unpack(const CodeLoops& loops,
                                  const std::vector<std::uint32_t>& integers, std::size_t count,
                                  std::uint32_t width) {
  std::vector<std::uint32_t> codes(count);
  loops.unpack(integers.data(), count, width, codes.data());
  return codes;
}

std::vector<std::uint32_t> find(const CodeLoops& loops, const std::vector<float>& x,
                                std::uint32_t least, Side side, std::uint32_t first) {
  std::vector<std::uint32_t> indices(x.size() + kGroupIntegers);
  indices.resize(loops.find_from(x.data(), x.size(), least, side, first, indices.data()));
  return indices;
}

std::vector<std::uint32_t> quantise(const CodeLoops& loops, const std::vector<float>& x,
                                    const Steps& steps, const Draws& draws) {
  std::vector<std::uint32_t> codes(x.size());
  loops.quantise(x.data(), x.size(), steps, draws, codes.data());
  return codes;
}

TEST(CodeLoops, FillTheFirstLanesOfAGroupBeforeTheSecond) {
  // 40 codes of 16 bits are a whole group of 32, and 8 codes in 4 integers.
  std::vector<std::uint32_t> codes(40);
  for (std::uint32_t i = 0; i < codes.size(); ++i) codes[i] = i + 1;
  const std::vector<std::uint32_t> integers = pack(scalar_code_loops(), codes, 16);
  ASSERT_EQ(integers.size(), 20U);
  EXPECT_EQ(integers[0], 1U | 17U << 16);
  EXPECT_EQ(integers[15], 16U | 32U << 16);
  EXPECT_EQ(integers[16], 33U | 37U << 16);
  EXPECT_EQ(integers[19], 36U | 40U << 16);
}

TEST(CodeLoops, UnpackWhatWasPacked) {
  base::Prng prng(20261125);
  for (const std::uint32_t width : kWidths) {
    for (const std::size_t count : {0, 1, 5, 16, 31, 511, 512, 513, 1000}) {
      const std::vector<std::uint32_t> codes = draw_codes(prng, count, width);
      const auto integers = pack(scalar_code_loops(), codes, width);
      ASSERT_EQ(unpack(scalar_code_loops(), integers, count, width), codes)
          << width << " " << count;
    }
  }
}

TEST(CodeLoops, TransformIsOrthogonalAndItsOwnInverse) {
  base::Prng prng(20261126);
  for (std::size_t count = 1; count <= 4096; count *= 2) {
    std::vector<float> x(count);
    double before = 0;
    for (float& value : x) value = static_cast<float>(prng.between(-1000, 1000));
    for (const float value : x) before += double{value} * double{value};
    std::vector<float> y = x;
    scalar_code_loops().transform(y.data(), count);
    double after = 0;
    for (const float value : y) after += double{value} * double{value};
    EXPECT_NEAR(after, before, 1e-5 * before);
    scalar_code_loops().transform(y.data(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(y[i], x[i], 0.01) << count << " " << i;
  }
}

TEST(CodeLoops, SumOnlyMagnitudesAboveTheShift) {
  const std::vector<float> x = {-3, 1, 2, 0, -0.5F, 2.5F, -2, 4, 8, -9};
  const MagnitudeSums sums = scalar_code_loops().sum_magnitudes(x.data(), x.size(), 2);
  EXPECT_EQ(sums.count, 5U);
  EXPECT_EQ(sums.sum, 1 + 0.5 + 2 + 6 + 7);
  EXPECT_EQ(sums.squares, 1 + 0.25 + 4 + 36 + 49);
}

TEST(CodeLoops, FindInfinitiesAndNansAsTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {nan, -nan, infinity, -infinity}) {
    std::vector<float> x(37, 1);
    x[20] = value;
    EXPECT_EQ(scalar_code_loops().find_largest(x.data(), x.size()), infinity);
    EXPECT_EQ(find(scalar_code_loops(), x, kInfinityKey, Side::both, 7),
              std::vector<std::uint32_t>{27});
  }
  EXPECT_EQ(scalar_code_loops().find_largest(nullptr, 0), 0);
}

TEST(CodeLoops, RoundUpAsOftenAsThePlaceSays) {
  const std::vector<float> x(1 << 16, 0.3F);
  const auto codes = quantise(scalar_code_loops(), x,
                              {.divisor = 1, .factor = 1, .zero = 4, .most = 8}, {.key = 99});
  std::size_t up = 0;
  for (const std::uint32_t code : codes) {
    ASSERT_TRUE(code == 4 || code == 5);
    up += code - 4;
  }
  const double part = static_cast<double>(up) / static_cast<double>(x.size());
  EXPECT_NEAR(part, 0.3, 5 * std::sqrt(0.3 * 0.7 / static_cast<double>(x.size())));
}

// Compares all loops of a set with the scalar loops on one tensor.
void expect_as_scalar(const CodeLoops& loops, base::Prng& prng, std::size_t count) {
  const CodeLoops& scalar = scalar_code_loops();
  const std::vector<float> any = draw_floats(prng, count, false);
  const std::vector<float> finite = draw_floats(prng, count, true);
  ASSERT_EQ(loops.find_largest(any.data(), count), scalar.find_largest(any.data(), count));
  ASSERT_EQ(loops.find_largest(finite.data(), count), scalar.find_largest(finite.data(), count));

  const float shift = prng.below(2) == 0 ? 0 : 1.5F;
  const MagnitudeSums sums = loops.sum_magnitudes(finite.data(), count, shift);
  const MagnitudeSums expected = scalar.sum_magnitudes(finite.data(), count, shift);
  ASSERT_EQ(sums.count, expected.count);
  ASSERT_EQ(std::bit_cast<std::uint64_t>(sums.sum), std::bit_cast<std::uint64_t>(expected.sum));
  ASSERT_EQ(std::bit_cast<std::uint64_t>(sums.squares),
            std::bit_cast<std::uint64_t>(expected.squares));

  for (const Side side : kSides) {
    const std::uint32_t least = prng.below(8) == 0 ? 0 : key_of(finite.empty() ? 1 : finite[0]);
    const auto first = static_cast<std::uint32_t>(prng.below(1000));
    ASSERT_EQ(find(loops, any, least, side, first), find(scalar, any, least, side, first));
    ASSERT_EQ(loops.count_from(any.data(), count, least, side),
              scalar.count_from(any.data(), count, least, side));
  }

  // In some tensors indices pass 2^32.
  const Draws draws = {.key = prng.next(),
                       .first = prng.below(3) == 0 ? (std::uint64_t{1} << 32) - 20 : prng.next()};
  const Steps steps = {.divisor = 4, .factor = 127, .zero = 127, .most = 254};
  ASSERT_EQ(quantise(loops, finite, steps, draws), quantise(scalar, finite, steps, draws));

  std::vector<std::uint32_t> votes(count);
  std::vector<std::uint32_t> expected_votes(count);
  loops.vote(any.data(), count, votes.data());
  scalar.vote(any.data(), count, expected_votes.data());
  ASSERT_EQ(votes, expected_votes);

  std::vector<float> flipped = any;
  std::vector<float> expected_flipped = any;
  loops.flip(flipped.data(), count, draws);
  scalar.flip(expected_flipped.data(), count, draws);
  ASSERT_EQ(bits_of(flipped), bits_of(expected_flipped));

  for (const std::uint32_t width : kWidths) {
    const auto codes = draw_codes(prng, count, width);
    const auto integers = pack(scalar, codes, width);
    ASSERT_EQ(pack(loops, codes, width), integers) << width;
    ASSERT_EQ(unpack(loops, integers, count, width), codes) << width;
    std::vector<float> restored(count);
    std::vector<float> expected_restored(count);
    const double zero = static_cast<double>(prng.below(std::uint64_t{1} << width)) / 2;
    loops.restore(codes.data(), count, zero, 1.0 / 3, restored.data());
    scalar.restore(codes.data(), count, zero, 1.0 / 3, expected_restored.data());
    ASSERT_EQ(bits_of(restored), bits_of(expected_restored)) << width;
  }
}

void expect_transform_as_scalar(const CodeLoops& loops, base::Prng& prng) {
  for (std::size_t count = 1; count <= 1 << 14; count *= 2) {
    std::vector<float> x = draw_floats(prng, count, true);
    for (float& value : x) value = std::fmod(value, 1e30F);
    std::vector<float> expected = x;
    loops.transform(x.data(), count);
    scalar_code_loops().transform(expected.data(), count);
    ASSERT_EQ(bits_of(x), bits_of(expected)) << count;
  }
}

TEST(CodeLoops, HaveTheSameBitsInEveryInstructionSet) {
  static_assert(sizeof(CodeLoops) == 11 * sizeof(void*), "a loop was added: compare it here");
  for (const KernelSet& set : supported_kernels()) {
    SCOPED_TRACE(set.name);
    base::Prng prng(20261127);
    for (std::size_t count = 0; count < 100; ++count) expect_as_scalar(*set.codes, prng, count);
    for (int i = 0; i < 20; ++i) expect_as_scalar(*set.codes, prng, 100 + prng.below(3000));
    expect_transform_as_scalar(*set.codes, prng);
  }
}

}  // namespace
}  // namespace infold::numeric
