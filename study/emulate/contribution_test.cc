// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/contribution.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace infold::emulate {
namespace {

using core::DataType;

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Decodes the bits of a half-precision float, whose exponent has 5 bits.
double half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const double size = exponent == 0 ? std::ldexp(bits & 0x3FF, -24)
                                    : std::ldexp(1024 + (bits & 0x3FF), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

double value_of(DataType type, const std::byte* at) {
  switch (type) {
    case DataType::f32: return static_cast<double>(load<float>(at));
    case DataType::f64: return load<double>(at);
    case DataType::f16: return half(load<std::uint16_t>(at));
    case DataType::bf16:
      return static_cast<double>(
          std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(at)) << 16));
    case DataType::i8: return load<std::int8_t>(at);
    case DataType::u8: return load<std::uint8_t>(at) - 128;
    case DataType::i32: return load<std::int32_t>(at);
    case DataType::i64: return static_cast<double>(load<std::int64_t>(at));
  }
  return NAN;
}

class EachType : public ::testing::TestWithParam<DataType> {};

TEST_P(EachType, AChunkHasTheElementsOfItsRankAndPlace) {
  const DataType type = GetParam();
  join::TransferNote note;
  // A broadcast carries the elements themselves.
  note.layout = {core::integer_format(type), type};
  note.collective = core::Collective::broadcast;
  for (const std::uint16_t rank : std::vector<std::uint16_t>{0, 1, 63, 255}) {
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{1} << 40}) {
      const std::uint32_t elements = 2000;
      const Contribution copied{note.layout, rank, codec_of_generated(note)};
      ASSERT_NE(copied.codec, nullptr);
      std::vector<std::byte> exponents(4096);
      std::vector<std::byte> wire(std::size_t{elements} * 8);
      contribution_codec().encode(&copied, nullptr, {first, elements}, nullptr, exponents.data(),
                                  wire.data());
      std::vector<std::byte> tensor(std::size_t{elements} * 8);
      copied.codec->decode(nullptr, tensor.data(), {0, elements},
                           {.exponents = exponents.data(), .elements = wire.data()});
      for (std::uint32_t i = 0; i < elements; ++i) {
        ASSERT_EQ(value_of(type, tensor.data() + std::size_t{i} * element_bytes(type)),
                  generated_value(type, rank, first + i))
            << "rank " << rank << ", element " << first + i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Contribution, EachType,
                         ::testing::Values(DataType::f32, DataType::f16, DataType::bf16,
                                           DataType::f64, DataType::i8, DataType::u8, DataType::i32,
                                           DataType::i64));

TEST(Contribution, ZerosHaveNoExponents) {
  const core::ElementLayout layout{core::WireFormat::bfp16, DataType::f32};
  const Contribution own{layout, 3, nullptr};
  std::vector<std::byte> exponents(64, std::byte{1});
  std::vector<std::byte> elements(256, std::byte{1});
  EXPECT_FALSE(contribution_codec().encode(&own, nullptr, {0, 100}, nullptr, exponents.data(),
                                           elements.data()));
  for (std::uint32_t i = 0; i < layout.exponent_bytes(100); ++i)
    EXPECT_EQ(exponents[i], std::byte{});
  for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(elements[i], std::byte{});
  EXPECT_EQ(elements[200], std::byte{1});
}

TEST(Contribution, CodesAndEncodedTensorsAreNotGenerated) {
  join::TransferNote note;
  note.layout = {core::WireFormat::bfp32, DataType::f32};
  EXPECT_NE(codec_of_generated(note), nullptr);
  note.encoding = 1;
  EXPECT_EQ(codec_of_generated(note), nullptr);
  note.encoding = 0;
  note.sized_later = true;
  EXPECT_EQ(codec_of_generated(note), nullptr);
}

}  // namespace
}  // namespace infold::emulate
