// SPDX-License-Identifier: Apache-2.0
//
// Tests floats with agreed exponents: the agreement, sums by addition alone, and specials as
// counts.
#include "numeric/adders/agreed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "numeric/codec.h"

namespace infold::numeric {
namespace {

using Tensor = std::vector<float>;
constexpr std::uint32_t kBlock = INFOLD_BLOCK_ELEMENTS;

// Lets the ranks agree on the largest code of each block, and on whether any rank has a special in
// it.
std::vector<std::uint16_t> agree(const std::vector<Tensor>& tensors) {
  const auto elements = static_cast<std::uint32_t>(tensors[0].size());
  std::vector<std::uint16_t> agreed((elements + kBlock - 1) / kBlock);
  for (const Tensor& tensor : tensors) {
    std::vector<std::uint16_t> own(agreed.size());
    block_codes(core::DataType::f32, reinterpret_cast<const std::byte*>(tensor.data()),
                {0, elements}, own.data());
    for (std::size_t block = 0; block < own.size(); ++block) {
      const int code = std::max(agreed[block] & ~kAgreedSpecial, own[block] & ~kAgreedSpecial);
      const int mark = (agreed[block] | own[block]) & kAgreedSpecial;
      agreed[block] = static_cast<std::uint16_t>(code | mark);
    }
  }
  return agreed;
}

// Sums like a plane that can only add 32-bit integers.
Tensor all_reduce(const std::vector<Tensor>& tensors, const std::vector<std::uint16_t>& agreed) {
  const auto world = static_cast<std::uint32_t>(tensors.size());
  const auto elements = static_cast<std::uint32_t>(tensors[0].size());
  const core::TensorCodec* codec = agreed_codec(core::DataType::f32, core::Reduction::sum, world);
  std::vector<std::byte> sum(elements * 4);
  std::vector<std::byte> lanes(elements * 4);
  for (const Tensor& tensor : tensors) {
    codec->encode(nullptr, reinterpret_cast<const std::byte*>(tensor.data()), {0, elements},
                  agreed.data(), nullptr, lanes.data());
    arithmetic().sum[core::integer_index(core::WireFormat::i32)](sum.data(), lanes.data(),
                                                                 elements);
  }
  Tensor result(elements);
  codec->decode(nullptr, reinterpret_cast<std::byte*>(result.data()), {0, elements},
                {.elements = sum.data(), .codes = agreed.data()});
  return result;
}

std::vector<Tensor> random_tensors(std::uint32_t world, std::uint32_t elements) {
  base::Prng prng(world);
  std::vector<Tensor> tensors(world, Tensor(elements));
  for (Tensor& tensor : tensors) {
    for (float& element : tensor) element = static_cast<float>(prng.uniform() - 0.5);
  }
  return tensors;
}

// Each rank's error is at most half a unit, or a unit if the limit cut the element off.
TEST(Agreed, SumsStayWithinTheBoundForEveryWorld) {
  for (const std::uint32_t world : {1U, 2U, 3U, 7U, 8U, 64U, 255U, 256U, 511U}) {
    const auto tensors = random_tensors(world, 100);
    const auto agreed = agree(tensors);
    const Tensor sum = all_reduce(tensors, agreed);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double exact = 0;
      for (const Tensor& tensor : tensors) exact += static_cast<double>(tensor[i]);
      const double unit =
          std::ldexp(1.0, agreed_unit<F32>(agreed_world(world), agreed[i / kBlock], false));
      EXPECT_NEAR(static_cast<double>(sum[i]), exact, world * unit + std::abs(exact) * 0x1p-24);
    }
  }
}

// Every rank holds the largest significand. If it were rounded up, the sum over a power of two of
// ranks would overflow.
TEST(Agreed, NoSumOverflows) {
  for (const std::uint32_t world : {1U, 2U, 8U, 256U, 511U}) {
    for (const float sign : {1.0f, -1.0f}) {
      const float element = sign * 0x1.fffffep0f;
      const std::vector<Tensor> tensors(world, Tensor(33, element));
      for (const float result : all_reduce(tensors, agree(tensors))) {
        EXPECT_NEAR(static_cast<double>(result), static_cast<double>(element) * world,
                    std::ldexp(static_cast<double>(world), -20));
      }
    }
  }
}

TEST(Agreed, SpecialsAddAsInIeee754AndNeighboursKeepTheirBits) {
  for (const std::uint32_t world : {1U, 2U, 8U, 256U, 511U}) {
    auto tensors = random_tensors(world, kBlock + 8);
    for (Tensor& tensor : tensors) tensor[3] = INFINITY;  // at all ranks, for the largest count
    tensors[0][4] = -INFINITY;
    tensors[world - 1][5] = NAN;
    tensors[0][6] = INFINITY;
    tensors[world - 1][6] = -INFINITY;
    for (Tensor& tensor : tensors) tensor[7] = NAN;
    const auto agreed = agree(tensors);
    EXPECT_EQ(agreed[0] & kAgreedSpecial, kAgreedSpecial);
    EXPECT_EQ(agreed[1] & kAgreedSpecial, 0);
    const Tensor sum = all_reduce(tensors, agreed);
    EXPECT_EQ(sum[3], INFINITY);
    EXPECT_EQ(sum[4], -INFINITY);
    EXPECT_TRUE(std::isnan(sum[5]));
    const std::uint32_t opposite = world > 1 ? F32::kQuietNan : F32::kInfinity | F32::kSign;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sum[6]), opposite);
    EXPECT_TRUE(std::isnan(sum[7]));
    const double unit = std::ldexp(1.0, agreed_unit<F32>(agreed_world(world), agreed[0], true));
    for (std::size_t i = 8; i < kBlock; ++i) {
      double exact = 0;
      for (const Tensor& tensor : tensors) exact += static_cast<double>(tensor[i]);
      EXPECT_NEAR(static_cast<double>(sum[i]), exact, world * unit);
    }
  }
}

TEST(Agreed, NeighboursKeepTheBitsThatTheCommentPromises) {
  EXPECT_EQ(agreed_world(8).magnitude_bits(true), 20);
  EXPECT_EQ(agreed_world(256).magnitude_bits(true), 5);
  EXPECT_EQ(agreed_world(kAgreedWorldMax).magnitude_bits(true), 4);
}

TEST(Agreed, OnlyFloatsSumsAndWorldsThatFitHaveACodec) {
  EXPECT_EQ(agreed_codec(core::DataType::i32, core::Reduction::sum, 2), nullptr);
  EXPECT_EQ(agreed_codec(core::DataType::f32, core::Reduction::max, 2), nullptr);
  EXPECT_EQ(agreed_codec(core::DataType::f32, core::Reduction::sum, 0), nullptr);
  EXPECT_EQ(agreed_codec(core::DataType::f32, core::Reduction::sum, kAgreedWorldMax + 1), nullptr);
  EXPECT_NE(agreed_codec(core::DataType::bf16, core::Reduction::average, kAgreedWorldMax), nullptr);
}

}  // namespace
}  // namespace infold::numeric
