// SPDX-License-Identifier: Apache-2.0
//
// Tests encoding and decoding of whole tensors, and chunks of encoded tensors, which an aggregator
// may ask for in coarser units.
#include "encoding/encoded_tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/encoded_testing.h"
#include "numeric/codec.h"

namespace infold::encoding {
namespace {

using ::testing::HasSubstr;

constexpr WireFormat kWires[] = {WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8};

using Memory = EncodedMemory;

// Returns values with neighbouring blocks of very different magnitude, a block of zeros, and
// special values.
std::vector<float> values(std::size_t elements) {
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const auto block = static_cast<int>(i / 32);
    if (block % 5 == 3) continue;
    tensor[i] = std::ldexp(static_cast<float>(i % 61) - 30.5F, block % 7 * 9 - 20);
  }
  if (elements > 100) tensor[100] = std::numeric_limits<float>::infinity();
  if (elements > 70) tensor[70] = std::numeric_limits<float>::quiet_NaN();
  return tensor;
}

TEST(Encoded, SizesFollowFromFormatAndType) {
  EXPECT_EQ(exponent_bytes(WireFormat::bfp16, DataType::f32, 33), 2U);
  EXPECT_EQ(exponent_bytes(WireFormat::bfp16, DataType::f64, 65), 4U);
  EXPECT_EQ(mantissa_bytes(WireFormat::bfp16, DataType::f32, 33), 66U);
  EXPECT_EQ(mantissa_bytes(WireFormat::bfp8, DataType::f64, 33), 33U);
  EXPECT_EQ(mantissa_bytes(WireFormat::native, DataType::f32, 33), 0U);
  EXPECT_EQ(exponent_bytes(WireFormat::fixed32, DataType::f32, 33), 0U);
  EXPECT_EQ(exponent_bytes(WireFormat::bfp8, DataType::i32, 33), 0U);
}

TEST(Encoded, DecodedOnceMoreItIsTheSame) {
  for (const WireFormat wire : kWires) {
    for (const std::size_t elements : {0UL, 1UL, 32UL, 2047UL, 2049UL, 9000UL}) {
      Memory memory(wire, DataType::f32, elements), again(wire, DataType::f32, elements);
      const std::vector<float> tensor = values(elements);
      ASSERT_TRUE(encode(tensor, memory.view).has_value());
      std::vector<float> decoded(elements), twice(elements);
      ASSERT_TRUE(decode(memory.view, decoded).has_value());
      ASSERT_TRUE(encode(decoded, again.view).has_value());
      ASSERT_TRUE(decode(again.view, twice).has_value());
      for (std::size_t i = 0; i < elements; ++i) {
        ASSERT_EQ(std::isnan(tensor[i]), std::isnan(decoded[i]));
        if (std::isnan(tensor[i])) continue;
        ASSERT_EQ(twice[i], decoded[i]) << wire_format_name(wire) << " at " << i;
        if (std::isinf(tensor[i])) {
          ASSERT_EQ(decoded[i], tensor[i]);
        }
      }
    }
  }
}

// The codec of a wire format and the encoded tensor must give the same bytes for a chunk.
TEST(Encoded, AChunkIsThatOfTheDecodedTensor) {
  for (const WireFormat wire : kWires) {
    Memory memory(wire, DataType::f32, 700), result(wire, DataType::f32, 700);
    ASSERT_TRUE(encode(values(700), memory.view).has_value());
    std::vector<float> decoded(700);
    ASSERT_TRUE(decode(memory.view, decoded).has_value());
    EncodedTensor tensor;
    tensor.begin(memory.view, result.view);
    const core::ElementLayout layout = layout_of(memory.view).value();
    const core::TensorCodec* const own =
        numeric::codec(DataType::f32, layout.format, Reduction::sum, core::Collective::all_reduce);
    const core::ChunkRange range = {64, 636};
    const std::size_t codes_bytes = layout.exponent_bytes(range.elements);
    for (const bool realigns : {false, true}) {
      std::vector<std::uint16_t> floors(layout.block_count(range.elements));
      for (std::size_t block = 0; block < floors.size(); ++block) {
        floors[block] = static_cast<std::uint16_t>(block % 3 * 60 + 40);
      }
      const std::uint16_t* const asked = realigns ? floors.data() : nullptr;
      std::vector<std::byte> codes(codes_bytes, std::byte{9}), wanted_codes(codes_bytes);
      std::vector<std::byte> elements(range.elements * layout.element_bytes());
      std::vector<std::byte> wanted(elements.size());
      const bool specials = EncodedTensor::codec()->encode(&tensor, nullptr, range, asked,
                                                           codes.data(), elements.data());
      EXPECT_EQ(specials, own->encode(nullptr, reinterpret_cast<const std::byte*>(decoded.data()),
                                      range, asked, wanted_codes.data(), wanted.data()));
      EXPECT_TRUE(specials);
      EXPECT_EQ(codes, wanted_codes) << wire_format_name(wire) << realigns;
      EXPECT_EQ(elements, wanted) << wire_format_name(wire) << realigns;
      core::TensorCodec::Received received;
      received.exponents = codes.data();
      received.elements = elements.data();
      EncodedTensor::codec()->decode(&tensor, nullptr, range, received);
      EXPECT_EQ(std::memcmp(&result.exponents[2], codes.data(), floors.size()), 0);
      EXPECT_EQ(std::memcmp(&result.mantissas[64 * layout.element_bytes()], elements.data(),
                            elements.size()),
                0);
    }
  }
}

// The numbers of a block with code 0 are zeros, whatever their mantissas say.
TEST(Encoded, NonsenseIsMadeSound) {
  Memory memory(WireFormat::bfp8, DataType::f64, 100), result(WireFormat::bfp8, DataType::f64, 100);
  std::fill(memory.mantissas.begin(), memory.mantissas.end(), std::byte{5});
  memory.exponents[2] = memory.exponents[3] = std::byte{0xFF};  // beyond the last code
  EncodedTensor tensor;
  tensor.begin(memory.view, result.view);
  std::vector<std::byte> codes(4), elements(100);
  EXPECT_FALSE(EncodedTensor::codec()->encode(&tensor, nullptr, {0, 100}, nullptr, codes.data(),
                                              elements.data()));
  EXPECT_EQ(codes,
            (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0x0F}, std::byte{0xFF}}));
  EXPECT_EQ(elements[0], std::byte{0});
  EXPECT_EQ(elements[64], std::byte{5});
}

TEST(Encoded, WrongViewsAreRefused) {
  std::vector<float> tensor(64);
  Memory memory(WireFormat::bfp16, DataType::f32, 64);
  const auto text_of = [&](const MutableEncodedView& view) {
    const Result<void> done = encode(tensor, view);
    return done ? std::string("no error") : done.error().message;
  };
  EXPECT_EQ(text_of(memory.view), "no error");
  MutableEncodedView wrong = memory.view;
  wrong.wire = WireFormat::native;
  EXPECT_THAT(text_of(wrong), HasSubstr("f32 as native; allowed: floats as bfp32, bfp16 or bfp8"));
  wrong = memory.view;
  wrong.type = DataType::i32;
  EXPECT_THAT(text_of(wrong), HasSubstr("i32 as bfp16"));
  wrong = memory.view;
  wrong.mantissas = nullptr;
  EXPECT_THAT(text_of(wrong), HasSubstr("64 elements and a null address"));
  wrong = memory.view;
  wrong.elements = 32;
  EXPECT_THAT(text_of(wrong), HasSubstr("the tensor has 64 f32, the encoded one 32 f32"));
}

}  // namespace
}  // namespace infold::encoding
