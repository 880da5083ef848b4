// SPDX-License-Identifier: Apache-2.0
//
// Compares exact sums with the oracle, which shares no code with them: every step, every type, any
// order of contributions, sums and averages.
#include "core/exact/exact_sums.h"

#include <algorithm>
#include <cfenv>
#include <numeric>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/exact/exact_testing.h"
#include "core/world.h"
#include "study/oracle/exact_total.h"
#include "study/oracle/oracle_float.h"

namespace infold::core {
namespace {

std::uint64_t bits_at(DataType dtype, const std::byte* at, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at + index * element_bytes(dtype), element_bytes(dtype));
  return bits;
}

// Training frameworks make the processor treat subnormals as zeros.
void flush_subnormals([[maybe_unused]] bool flush) {
#if defined(__x86_64__)
  constexpr unsigned kModes = 0x8040;  // flush-to-zero and denormals-are-zero
  _mm_setcsr(flush ? _mm_getcsr() | kModes : _mm_getcsr() & ~kModes);
#endif
}

class Sums : public testing::TestWithParam<DataType> {
 protected:
  static constexpr std::uint32_t kElements = 21;  // leaves an odd tail after any vector

  ExactSums make() const {
    return ExactSums(
        {.sums = 2, .wide_sums = 2, .elements_max = 64, .bin_words_max = bin_words_max(64 * 8)});
  }

  // Sums all ranks. The last contribution is known to be the last.
  static void sum_at_once(ExactSums& sums, const std::vector<std::vector<std::byte>>& ranks,
                          std::uint32_t divisor, std::byte* result) {
    for (std::size_t i = 0; i + 1 < ranks.size(); ++i) {
      sums.add(1, GetParam(), ranks[i].data(), kElements);
    }
    sums.add_last(1, GetParam(), ranks.back().data(), kElements, divisor, result);
    EXPECT_FALSE(sums.has_begun(1));
  }

  // Compares every element with the oracle.
  void expect_true(const std::vector<std::vector<std::byte>>& ranks, std::uint32_t divisor,
                   const std::byte* result, const std::string& what) {
    for (std::uint32_t i = 0; i < kElements; ++i) {
      std::vector<double> values;
      for (const auto& rank : ranks)
        values.push_back(oracle::load_float(GetParam(), rank.data(), i));
      ASSERT_EQ(bits_at(GetParam(), result, i), oracle::nearest_sum(GetParam(), values, divisor))
          << what << ", element " << i;
    }
  }
};

TEST_P(Sums, AreTheOraclesForEveryKindOfNumbersAndOrder) {
  base::Prng prng(20261124);
  ExactSums sums = make();
  std::vector<std::byte> result(kElements * 8);
  for (std::uint32_t draw = 0; draw < 650; ++draw) {
    const ExactDraw kind = static_cast<ExactDraw>(draw % kExactDraws);
    const auto ranks_count =
        static_cast<std::uint32_t>(1 + prng.below(draw % 100 == 0 ? kWorldMax : 9));
    std::vector<std::vector<std::byte>> ranks =
        draw_contributions(GetParam(), kind, ranks_count, kElements, prng);
    for (int order = 0; order < 3; ++order) {
      for (std::size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[prng.below(i)]);
      for (const auto& rank : ranks) sums.add(0, GetParam(), rank.data(), kElements);
      for (const std::uint32_t divisor : {1U, ranks_count}) {
        sums.round(0, GetParam(), kElements, divisor, result.data());
        expect_true(ranks, divisor, result.data(), "draw " + std::to_string(draw));
        sum_at_once(sums, ranks, divisor, result.data());
        expect_true(ranks, divisor, result.data(), "at once, draw " + std::to_string(draw));
        if (HasFatalFailure()) return;
      }
      sums.end(0);
    }
  }
  if (GetParam() == DataType::f16) {
    EXPECT_EQ(sums.repaired(), 0U);  // 1024 x 65504 in 2^-24 is 50 bits
  } else {
    EXPECT_GT(sums.repaired(), 60U);
    EXPECT_GT(sums.binned(), 60U);
  }
}

// Aggregators with parents send sums of sums.
TEST_P(Sums, OfSumsAreTheOracles) {
  base::Prng prng(11);
  ExactSums leaf(
      {.sums = 1, .wide_sums = 1, .elements_max = 64, .bin_words_max = bin_words_max(64 * 8)});
  ExactSums root = make();
  std::vector<std::byte> result(kElements * 8);
  std::array<std::uint32_t, 2> ways{};
  for (std::uint32_t draw = 0; draw < 600; ++draw) {
    const auto kind = static_cast<ExactDraw>(draw % kExactDraws);
    const auto leaves = static_cast<std::uint32_t>(1 + prng.below(4));
    std::vector<std::vector<std::byte>> all;
    for (std::uint32_t i = 0; i < leaves; ++i) {
      const auto below = static_cast<std::uint32_t>(1 + prng.below(5));
      const auto ranks = draw_contributions(GetParam(), kind, below, kElements, prng);
      for (const auto& rank : ranks) leaf.add(0, GetParam(), rank.data(), kElements);
      all.insert(all.end(), ranks.begin(), ranks.end());
      ++ways[send_up(leaf, root, GetParam(), kElements) ? 1 : 0];
    }
    const auto n = static_cast<std::uint32_t>(all.size());
    root.round(0, GetParam(), kElements, n, result.data());
    root.end(0);
    expect_true(all, n, result.data(), "draw " + std::to_string(draw));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(ways[1], 100U);
  EXPECT_EQ(ways[0] > 50, GetParam() != DataType::f16);
}

// kWorldMax copies of the largest number fill the rows, in a tree of sixteen leaves. One tiny
// number beside them forces every sum into rows.
TEST_P(Sums, OfTheLargestNumbersOfAllRanksFitTheRows) {
  const std::uint32_t width = infold::element_bytes(GetParam());
  const std::uint64_t smallest = 1;
  for (const bool negative : {false, true}) {
    const std::uint64_t sign = negative ? std::uint64_t{1} << (8 * width - 1) : 0;
    std::uint64_t largest = sign;
    switch (GetParam()) {
      case DataType::f32: largest |= 0x7F7F'FFFF; break;
      case DataType::f16: largest |= 0x7BFF; break;
      case DataType::bf16: largest |= 0x7F7F; break;
      default: largest |= 0x7FEF'FFFF'FFFF'FFFF; break;
    }
    ExactSums leaf = make();
    ExactSums root = make();
    std::vector<std::vector<std::byte>> all;
    for (std::uint32_t rank = 0; rank < kWorldMax; ++rank) {
      std::vector<std::byte> tensor(std::size_t{kElements} * width);
      for (std::uint32_t i = 0; i < kElements; ++i) {
        const bool is_tiny = i % 2 == 1 && rank == 0;
        std::memcpy(&tensor[std::size_t{i} * width], is_tiny ? &smallest : &largest, width);
      }
      leaf.add(0, GetParam(), tensor.data(), kElements);
      if (rank % 64 == 63) send_up(leaf, root, GetParam(), kElements);
      all.push_back(std::move(tensor));
    }
    std::vector<std::byte> result(kElements * 8);
    for (const std::uint32_t divisor : {1U, kWorldMax}) {
      root.round(0, GetParam(), kElements, divisor, result.data());
      expect_true(all, divisor, result.data(), "divided by " + std::to_string(divisor));
    }
    EXPECT_EQ(root.binned() > 0, GetParam() != DataType::f16);
  }
}

// Training frameworks set these modes, and threads inherit them.
TEST_P(Sums, DoNotDependOnTheThreadsFloatingPointModes) {
  base::Prng prng(7);
  ExactSums sums = make();
  std::vector<std::byte> result(kElements * 8), at_once(kElements * 8);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (std::uint32_t draw = 0; draw < 200; ++draw) {
      const std::uint32_t count = draw % 2 == 0 ? 2 : 5;
      const auto ranks = draw_contributions(GetParam(), static_cast<ExactDraw>(draw % kExactDraws),
                                            count, kElements, prng);
      std::fesetround(mode);
      flush_subnormals(true);
      for (const auto& rank : ranks) sums.add(0, GetParam(), rank.data(), kElements);
      sums.round(0, GetParam(), kElements, count, result.data());
      sums.end(0);
      sum_at_once(sums, ranks, 1, at_once.data());
      const bool kept = std::fegetround() == mode;
      flush_subnormals(false);
      std::fesetround(FE_TONEAREST);
      ASSERT_TRUE(kept);
      expect_true(ranks, count, result.data(), "mode " + std::to_string(mode));
      expect_true(ranks, 1, at_once.data(), "at once, mode " + std::to_string(mode));
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Sums,
                         testing::Values(DataType::f32, DataType::f16, DataType::bf16,
                                         DataType::f64),
                         [](const auto& of) { return std::string(data_type_name(of.param)); });

TEST(ExactSums, ASmallNumberBesideALargeOneIsNotLost) {
  ExactSums sums(
      {.sums = 1, .wide_sums = 1, .elements_max = 64, .bin_words_max = bin_words_max(64 * 8)});
  const float x[2] = {2.5F, 3e9F};
  for (int rank = 0; rank < 2; ++rank) {
    sums.add(0, DataType::f32, reinterpret_cast<const std::byte*>(x), 2);
  }
  float result[2];
  sums.round(0, DataType::f32, 2, 1, reinterpret_cast<std::byte*>(result));
  EXPECT_EQ(result[0], 5.0F);
  EXPECT_EQ(result[1], 6e9F);
}

TEST(ExactSums, EveryPairOfSixteenBitNumbersIsRoundedOnce) {
  // One rank has all bit patterns, and the other has drawn ones. Tests sums and means.
  base::Prng prng(3);
  ExactSums sums({.sums = 1,
                  .wide_sums = 1,
                  .elements_max = 65536,
                  .bin_words_max = bin_words_max(65536 * 4)});
  for (const DataType dtype : {DataType::f16, DataType::bf16}) {
    std::vector<std::uint16_t> own(65536), other(65536), result(65536);
    std::iota(own.begin(), own.end(), std::uint16_t{0});
    for (std::uint16_t& bits : other) bits = static_cast<std::uint16_t>(prng.next());
    const auto* const first = reinterpret_cast<const std::byte*>(own.data());
    const auto* const last = reinterpret_cast<const std::byte*>(other.data());
    auto* const out = reinterpret_cast<std::byte*>(result.data());
    for (const std::uint32_t way : {0U, 1U, 2U, 3U}) {
      const std::uint32_t divisor = 1 + way / 2;
      sums.add(0, dtype, first, 65536);
      if (way % 2 == 0) {
        sums.add_last(0, dtype, last, 65536, divisor, out);
      } else {
        sums.add(0, dtype, last, 65536);
        sums.round(0, dtype, 65536, divisor, out);
        sums.end(0);
      }
      for (std::size_t i = 0; i < 65536; ++i) {
        const std::vector<double> values = {oracle::load_float(dtype, first, i),
                                            oracle::load_float(dtype, last, i)};
        ASSERT_EQ(result[i], oracle::nearest_sum(dtype, values, divisor)) << i;
      }
    }
  }
}

}  // namespace
}  // namespace infold::core
