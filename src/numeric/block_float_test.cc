// SPDX-License-Identifier: Apache-2.0
//
// Tests the promises of block floats, for every float type and mantissa, on the fastest kernels.
// differential_test.cc tests that all other kernels write the same bytes. The oracle uses long
// double, in which every value and unit here is exact.
#include "numeric/block_float.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"
#include "numeric/exponents.h"

namespace infold::numeric {
namespace {

using core::Collective;
using core::Reduction;

template <typename FormatType, typename MantissaType>
struct Pairing {
  using Format = FormatType;
  using Mantissa = MantissaType;
};

template <typename P>
class BlockFloat : public testing::Test {
 public:
  using Format = typename P::Format;
  using Mantissa = typename P::Mantissa;
  using Bits = typename Format::Bits;
  static constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  static constexpr std::uint32_t kBlock = kLayout.block_elements();

  struct Encoded {
    std::vector<std::byte> exponents;
    std::vector<Mantissa> mantissas;
    bool specials = false;

    std::uint32_t code(std::uint32_t block) const {
      return read_code<kLayout.wide_exponents()>(exponents.data(), block);
    }
    bool operator==(const Encoded&) const = default;
  };

  static const core::TensorCodec& codec() {
    return *numeric::codec(Format::kDtype, kLayout.format, Reduction::sum, Collective::all_reduce);
  }

  static Encoded encode(const std::vector<Bits>& tensor, const std::uint16_t* floors = nullptr) {
    const auto elements = static_cast<std::uint32_t>(tensor.size());
    Encoded out = {std::vector<std::byte>(kLayout.exponent_bytes(elements), std::byte{0xFF}),
                   std::vector<Mantissa>(elements)};
    out.specials = codec().encode(nullptr, reinterpret_cast<const std::byte*>(tensor.data()),
                                  {0, elements}, floors, out.exponents.data(),
                                  reinterpret_cast<std::byte*>(out.mantissas.data()));
    return out;
  }

  static std::vector<Bits> decode(const Encoded& in) {
    std::vector<Bits> tensor(in.mantissas.size(), 1);
    codec().decode(nullptr, reinterpret_cast<std::byte*>(tensor.data()),
                   {0, static_cast<std::uint32_t>(tensor.size())},
                   {.exponents = in.exponents.data(),
                    .elements = reinterpret_cast<const std::byte*>(in.mantissas.data()),
                    .specials = in.specials});
    return tensor;
  }

  static long double value(Bits bits) {
    const ExactFloat exact = unpack<Format>(bits);
    const auto magnitude = std::ldexp(static_cast<long double>(exact.significand), exact.exponent);
    return exact.negative ? -magnitude : magnitude;
  }

  static Bits bits_of(double number) {
    return pack<Format>(unpack<F64>(std::bit_cast<std::uint64_t>(number)));
  }

  // Draws finite numbers over the whole range. Exponents within a block differ by up to `spread`.
  static std::vector<Bits> random_tensor(std::uint64_t seed, std::uint32_t elements,
                                         std::uint32_t spread) {
    base::Prng prng(seed);
    constexpr std::uint32_t kFields = (1U << Format::kExponentBits) - 1;
    std::vector<Bits> tensor(elements);
    std::uint32_t base = 0;
    for (std::uint32_t i = 0; i < elements; ++i) {
      if (i % kBlock == 0) base = static_cast<std::uint32_t>(prng.below(kFields));
      const std::uint32_t lower = static_cast<std::uint32_t>(prng.below(spread));
      const Bits field = static_cast<Bits>(base > lower ? base - lower : 0);
      const Bits rest = static_cast<Bits>(prng.next()) & static_cast<Bits>(~Format::kInfinity);
      tensor[i] = static_cast<Bits>(field << Format::kFractionBits | rest);
    }
    return tensor;
  }

  static constexpr Bits kQuiet = Format::kQuietNan;
  static constexpr Bits kPlus = Format::kInfinity;
  static constexpr Bits kMinus = Format::kInfinity | Format::kSign;
};

using Pairings = testing::Types<
    Pairing<F32, std::int8_t>, Pairing<F32, std::int16_t>, Pairing<F32, std::int32_t>,
    Pairing<F16, std::int8_t>, Pairing<F16, std::int16_t>, Pairing<F16, std::int32_t>,
    Pairing<Bf16, std::int8_t>, Pairing<Bf16, std::int16_t>, Pairing<Bf16, std::int32_t>,
    Pairing<F64, std::int8_t>, Pairing<F64, std::int16_t>, Pairing<F64, std::int32_t>>;
TYPED_TEST_SUITE(BlockFloat, Pairings);

TYPED_TEST(BlockFloat, NoElementIsOffByMoreThanHalfAUnit) {
  using Kit = TestFixture;
  for (const std::uint32_t spread : {1U, 4U, 40U}) {
    const auto tensor = Kit::random_tensor(spread, 400 * Kit::kBlock + 13, spread);
    const auto encoded = Kit::encode(tensor);
    for (std::uint32_t i = 0; i < tensor.size(); ++i) {
      const auto code = static_cast<std::int32_t>(encoded.code(i / Kit::kBlock));
      const auto unit = std::ldexp(1.0L, Kit::kLayout.unit_exponent(std::max(code, 1)));
      const auto back = static_cast<long double>(encoded.mantissas[i]) * unit;
      ASSERT_LE(std::abs(back - Kit::value(tensor[i])), unit / 2) << i;
    }
  }
}

TYPED_TEST(BlockFloat, UsesTheFinestUnitThatHoldsTheLargest) {
  using Kit = TestFixture;
  const auto tensor = Kit::random_tensor(7, 400 * Kit::kBlock, 6);
  const auto encoded = Kit::encode(tensor);
  for (std::uint32_t block = 0; block < 400; ++block) {
    std::int64_t largest = 0;
    long double largest_value = 0;
    for (std::uint32_t i = block * Kit::kBlock; i < (block + 1) * Kit::kBlock; ++i) {
      largest = std::max(largest, std::abs(std::int64_t{encoded.mantissas[i]}));
      largest_value = std::max(largest_value, std::abs(Kit::value(tensor[i])));
    }
    ASSERT_LE(largest, Kit::kLayout.mantissa_limit());
    const std::uint32_t code = encoded.code(block);
    ASSERT_EQ(code == 0, largest == 0);
    if (code <= 1) continue;
    // In the next finer unit the largest value would exceed the mantissa's limit.
    const auto finer =
        std::ldexp(1.0L, Kit::kLayout.unit_exponent(static_cast<std::int32_t>(code)) - 1);
    ASSERT_GT(std::nearbyint(largest_value / finer), Kit::kLayout.mantissa_limit());
  }
}

TYPED_TEST(BlockFloat, EncodingADecodedTensorAgainKeepsIt) {
  using Kit = TestFixture;
  auto once = Kit::decode(Kit::encode(Kit::random_tensor(3, 100 * Kit::kBlock + 5, 9)));
  for (auto& bits : once) {  // a number that was rounded up to infinity
    if (is_special<typename Kit::Format>(bits)) bits = Kit::bits_of(1.0);
  }
  const auto twice = Kit::decode(Kit::encode(once));
  EXPECT_EQ(Kit::decode(Kit::encode(twice)), twice);
}

TYPED_TEST(BlockFloat, ZerosAreCodeZeroAndLoseTheirSign) {
  using Kit = TestFixture;
  std::vector<typename Kit::Bits> tensor(3 * Kit::kBlock, 0);
  for (std::uint32_t i = 0; i < tensor.size(); i += 2) tensor[i] = Kit::Format::kSign;
  tensor[Kit::kBlock] = Kit::bits_of(1.0);
  const auto encoded = Kit::encode(tensor);
  EXPECT_EQ(encoded.code(0), 0U);
  EXPECT_NE(encoded.code(1), 0U);
  EXPECT_EQ(encoded.code(2), 0U);
  const auto back = Kit::decode(encoded);
  for (std::uint32_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i], i == Kit::kBlock ? Kit::bits_of(1.0) : 0);
  }
}

TYPED_TEST(BlockFloat, SpecialsComeBackAndNeighboursAreUnchanged) {
  using Kit = TestFixture;
  const auto plain = Kit::random_tensor(11, 2 * Kit::kBlock + 9, 5);
  for (std::uint32_t at = 0; at < plain.size(); ++at) {
    auto without = plain;
    without[at] = 0;  // so that the other elements decide the block's maximum
    const auto expected = Kit::decode(Kit::encode(without));
    for (const auto special : {Kit::kQuiet, Kit::kPlus, Kit::kMinus}) {
      auto tensor = plain;
      tensor[at] = special;
      const auto encoded = Kit::encode(tensor);
      ASSERT_TRUE(encoded.specials);
      const auto back = Kit::decode(encoded);
      for (std::uint32_t i = 0; i < back.size(); ++i) {
        ASSERT_EQ(back[i], i == at ? special : expected[i]) << at << " " << i;
      }
    }
  }
  EXPECT_FALSE(Kit::encode(plain).specials);
}

TYPED_TEST(BlockFloat, AnyNanComesBackAsTheQuietOne) {
  using Kit = TestFixture;
  std::vector<typename Kit::Bits> tensor(Kit::kBlock, Kit::bits_of(2.0));
  tensor[1] = static_cast<typename Kit::Bits>(Kit::kPlus | 1);
  tensor[2] = static_cast<typename Kit::Bits>(~typename Kit::Bits{0});
  const auto back = Kit::decode(Kit::encode(tensor));
  EXPECT_EQ(back[1], Kit::kQuiet);
  EXPECT_EQ(back[2], Kit::kQuiet);
  EXPECT_EQ(back[3], Kit::bits_of(2.0));
}

TYPED_TEST(BlockFloat, AnOutlierCostsItsBlockTheStatedBoundAndOthersNothing) {
  using Kit = TestFixture;
  std::vector<typename Kit::Bits> tensor(2 * Kit::kBlock, Kit::bits_of(1.0));
  tensor[5] = Kit::bits_of(1024.0);
  const auto back = Kit::decode(Kit::encode(tensor));
  const auto bound = std::ldexp(1024.0L, -Kit::kLayout.mantissa_top_bit() - 1);
  for (std::uint32_t i = 0; i < back.size(); ++i) {
    const auto error = std::abs(Kit::value(back[i]) - Kit::value(tensor[i]));
    EXPECT_LE(error, i < Kit::kBlock ? bound : 0.0L) << i;
  }
}

TYPED_TEST(BlockFloat, AFloorCoarsensTheUnitAndMayLeaveZeros) {
  using Kit = TestFixture;
  std::vector<typename Kit::Bits> tensor(3 * Kit::kBlock, Kit::bits_of(1.0));
  for (std::uint32_t i = 2 * Kit::kBlock; i < tensor.size(); ++i) tensor[i] = 0;
  const auto own = static_cast<std::uint16_t>(Kit::encode(tensor).code(0));
  const auto top = static_cast<std::uint16_t>(Kit::kLayout.mantissa_top_bit());
  const std::uint16_t floors[] = {static_cast<std::uint16_t>(own + top),
                                  static_cast<std::uint16_t>(own + top + 2), own};
  const auto encoded = Kit::encode(tensor, floors);
  EXPECT_EQ(encoded.code(0), floors[0]);
  EXPECT_EQ(encoded.mantissas[0], 1);
  EXPECT_EQ(encoded.code(1), 0U);
  EXPECT_EQ(encoded.mantissas[Kit::kBlock], 0);
  EXPECT_EQ(encoded.code(2), 0U);
  const std::uint16_t low[] = {1, 0, 1};
  EXPECT_EQ(Kit::encode(tensor, low), Kit::encode(tensor));
}

TYPED_TEST(BlockFloat, SubnormalsAndTheLargestNumbersAreValuesLikeOthers) {
  using Kit = TestFixture;
  std::vector<typename Kit::Bits> tensor(2 * Kit::kBlock);
  for (std::uint32_t i = 0; i < Kit::kBlock; ++i) tensor[i] = static_cast<typename Kit::Bits>(i);
  for (std::uint32_t i = Kit::kBlock; i < tensor.size(); ++i)
    tensor[i] = Kit::Format::kInfinity - 1;
  const auto encoded = Kit::encode(tensor);
  const auto back = Kit::decode(encoded);
  const auto code = static_cast<std::int32_t>(encoded.code(0));
  const auto unit = std::ldexp(1.0L, Kit::kLayout.unit_exponent(std::max(code, 1)));
  for (std::uint32_t i = 0; i < Kit::kBlock; ++i) {
    EXPECT_LE(std::abs(Kit::value(back[i]) - Kit::value(tensor[i])), unit / 2) << i;
  }
  // The largest number may round up to infinity, unless mantissas have enough bits for it.
  const bool holds = Kit::Format::kFractionBits <= Kit::kLayout.mantissa_top_bit();
  EXPECT_EQ(back[Kit::kBlock], holds ? Kit::Format::kInfinity - 1 : Kit::kPlus);
}

TYPED_TEST(BlockFloat, NoBitDependsOnChunksOrAlignment) {
  using Kit = TestFixture;
  constexpr std::uint32_t kElements = 23 * Kit::kBlock + 17;
  const auto tensor = Kit::random_tensor(5, kElements, 12);
  const auto whole = Kit::encode(tensor);
  const auto expected = Kit::decode(whole);
  constexpr std::size_t kBytes = sizeof(typename Kit::Bits);
  for (std::uint32_t offset = 0; offset < 70; offset += 3) {
    std::vector<std::byte> moved(kElements * kBytes + 80);
    std::memcpy(moved.data() + offset, tensor.data(), kElements * kBytes);
    const std::uint32_t chunk = Kit::kBlock * (1 + offset % 9);
    for (std::uint64_t first = 0; first < kElements; first += chunk) {
      const auto elements =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, kElements - first));
      std::vector<std::byte> exponents(Kit::kLayout.exponent_bytes(elements));
      std::vector<std::byte> mantissas(elements * sizeof(typename Kit::Mantissa) + 3);
      Kit::codec().encode(nullptr, moved.data() + offset, {first, elements}, nullptr,
                          exponents.data(), mantissas.data() + offset % 4);
      ASSERT_EQ(std::memcmp(mantissas.data() + offset % 4, whole.mantissas.data() + first,
                            elements * sizeof(typename Kit::Mantissa)),
                0);
      Kit::codec().decode(
          nullptr, moved.data() + offset, {first, elements},
          {.exponents = exponents.data(), .elements = mantissas.data() + offset % 4});
    }
    ASSERT_EQ(std::memcmp(moved.data() + offset, expected.data(), kElements * kBytes), 0);
  }
}

TYPED_TEST(BlockFloat, AnAverageOverAPowerOfTwoIsTheSumMovedDown) {
  using Kit = TestFixture;
  const auto encoded = Kit::encode(Kit::random_tensor(9, 50 * Kit::kBlock, 3));
  const auto* average = numeric::codec(Kit::Format::kDtype, Kit::kLayout.format, Reduction::average,
                                       Collective::all_reduce);
  std::vector<typename Kit::Bits> tensor(encoded.mantissas.size());
  average->decode(nullptr, reinterpret_cast<std::byte*>(tensor.data()),
                  {0, static_cast<std::uint32_t>(tensor.size())},
                  {.exponents = encoded.exponents.data(),
                   .elements = reinterpret_cast<const std::byte*>(encoded.mantissas.data()),
                   .divisor = 8});
  for (std::uint32_t i = 0; i < tensor.size(); ++i) {
    const auto code = static_cast<std::int32_t>(encoded.code(i / Kit::kBlock));
    const auto moved =
        scaled<typename Kit::Format>(encoded.mantissas[i], Kit::kLayout.unit_exponent(code) - 3, 1);
    ASSERT_EQ(tensor[i], code == 0 ? 0 : moved) << i;
  }
}

}  // namespace
}  // namespace infold::numeric
