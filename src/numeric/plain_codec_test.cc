// SPDX-License-Identifier: Apache-2.0
//
// Tests elements that travel as integers: copies, averages of integers, and floats in the order of
// integers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "numeric/codec.h"
#include "numeric/order_key.h"

namespace infold::numeric {
namespace {

using core::Collective;
using core::DataType;
using core::Reduction;
using core::WireFormat;

template <typename To, typename From>
std::vector<To> through(const core::TensorCodec& codec, const std::vector<From>& in, bool encoding,
                        std::uint32_t divisor = 1) {
  std::vector<To> out(in.size());
  const auto elements = static_cast<std::uint32_t>(in.size());
  const auto* source = reinterpret_cast<const std::byte*>(in.data());
  auto* target = reinterpret_cast<std::byte*>(out.data());
  if (encoding) {
    EXPECT_FALSE(codec.encode(nullptr, source, {0, elements}, nullptr, nullptr, target));
  } else {
    codec.decode(nullptr, target, {0, elements}, {.elements = source, .divisor = divisor});
  }
  return out;
}

// Results are right at any address and of any length, and no byte beyond them is written.
TEST(PlainCodec, ResultsOfLongTensorsAreTheSame) {
  const auto* bytes = codec(DataType::i8, WireFormat::i8, Reduction::sum, Collective::all_reduce);
  ASSERT_TRUE(bytes->streams);
  std::vector<std::byte> source(700);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
  for (const std::uint32_t elements : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 300U, 500U}) {
    for (std::uint32_t at = 0; at < 70; ++at) {
      std::vector<std::byte> expected(700), result(700);
      std::copy_n(source.begin() + 1, elements, expected.begin() + at);
      bytes->decode(nullptr, result.data(), {at, elements},
                    {.elements = source.data() + 1, .is_long = true});
      ASSERT_EQ(result, expected) << elements << " at " << at;
    }
  }
}

TEST(PlainCodec, AnAverageTruncatesTowardsZero) {
  const auto* i32 = codec(DataType::i32, WireFormat::i32, Reduction::average, Collective::reduce);
  EXPECT_EQ((through<std::int32_t>(*i32, std::vector<std::int32_t>{7, -7, 6, INT32_MIN}, false, 4)),
            (std::vector<std::int32_t>{1, -1, 1, INT32_MIN / 4}));
  const auto* u8 = codec(DataType::u8, WireFormat::i8, Reduction::average, Collective::reduce);
  EXPECT_EQ((through<std::uint8_t>(*u8, std::vector<std::uint8_t>{255, 128, 3}, false, 2)),
            (std::vector<std::uint8_t>{127, 64, 1}));
  const auto* i64 = codec(DataType::i64, WireFormat::i64, Reduction::average, Collective::reduce);
  EXPECT_EQ((through<std::int64_t>(*i64, std::vector<std::int64_t>{INT64_MIN, -1}, false, 3)),
            (std::vector<std::int64_t>{INT64_MIN / 3, 0}));
}

TEST(PlainCodec, KeysOfFloatsAreInTheirOrder) {
  const std::vector<float> ascending = {-INFINITY, -0x1.fffffep127f, -1.0f,  -0x1p-149f, -0.0f,
                                        0.0f,      0x1p-149f,        0x1p0f, INFINITY};
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    const auto* keys = codec(DataType::f32, WireFormat::i32, reduction, Collective::all_reduce);
    const auto wire = through<std::int32_t>(*keys, ascending, true);
    for (std::size_t i = 1; i < wire.size(); ++i) EXPECT_LT(wire[i - 1], wire[i]);
    const auto back = through<float>(*keys, wire, false);
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(ascending[i]));
    }
  }
}

template <typename Format>
void expect_nan_wins_and_numbers_return() {
  using Key = std::make_signed_t<typename Format::Bits>;
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto least = order_key<Format, Reduction::min>(bits);
    const auto greatest = order_key<Format, Reduction::max>(bits);
    if (magnitude_bits<Format>(bits) > Format::kInfinity) {
      EXPECT_EQ(least, std::numeric_limits<Key>::min());
      EXPECT_EQ(greatest, std::numeric_limits<Key>::max());
      EXPECT_EQ(from_order_key<Format>(least), Format::kQuietNan);
      EXPECT_EQ(from_order_key<Format>(greatest), Format::kQuietNan);
    } else {
      EXPECT_EQ(from_order_key<Format>(least), bits);
      EXPECT_EQ(from_order_key<Format>(greatest), bits);
    }
  }
}

TEST(PlainCodec, EveryF16AndBf16ReturnsFromItsKeyAndNanWins) {
  expect_nan_wins_and_numbers_return<F16>();
  expect_nan_wins_and_numbers_return<Bf16>();
}

TEST(PlainCodec, UnsignedBytesAreComparedAsUnsigned) {
  const auto* keys = codec(DataType::u8, WireFormat::i8, Reduction::max, Collective::all_reduce);
  const std::vector<std::uint8_t> tensor = {0, 127, 128, 255};
  EXPECT_EQ((through<std::int8_t>(*keys, tensor, true)),
            (std::vector<std::int8_t>{-128, -1, 0, 127}));
}

TEST(PlainCodec, ACopyKeepsEveryBit) {
  const auto* copy = codec(DataType::f32, WireFormat::i32, Reduction::sum, Collective::broadcast);
  const std::vector<std::uint32_t> bits = {0x7F800001, 0x80000000, 0xFFFFFFFF, 1};
  EXPECT_EQ((through<std::uint32_t>(*copy, bits, true)), bits);
  EXPECT_EQ((through<std::uint32_t>(*copy, bits, false, 9)), bits);
}

TEST(PlainCodec, ACodecThatDoesNotExistIsNull) {
  EXPECT_EQ(codec(DataType::i32, WireFormat::bfp32, Reduction::sum, Collective::reduce), nullptr);
  EXPECT_EQ(codec(DataType::f32, WireFormat::i32, Reduction::sum, Collective::reduce), nullptr);
  EXPECT_EQ(codec(DataType::f32, WireFormat::i16, Reduction::max, Collective::reduce), nullptr);
  EXPECT_EQ(codec(DataType::f32, WireFormat::bfp32, Reduction::max, Collective::reduce), nullptr);
  EXPECT_EQ(codec(DataType::i32, WireFormat::i32, Reduction::sum, Collective::barrier), nullptr);
}

}  // namespace
}  // namespace infold::numeric
