// SPDX-License-Identifier: Apache-2.0
//
// The sizes that the specification states.
#include "core/format.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/packet/packet.h"

namespace infold::core {
namespace {

constexpr ElementLayout kBfp32 = {WireFormat::bfp32, DataType::f32};
constexpr ElementLayout kBfp16 = {WireFormat::bfp16, DataType::f32};
constexpr ElementLayout kBfp8 = {WireFormat::bfp8, DataType::f32};
constexpr ElementLayout kI32 = {WireFormat::i32, DataType::i32};
constexpr ElementLayout kF64 = {WireFormat::bfp32, DataType::f64};

constexpr std::uint32_t kIpv4 = 1500 - 28;
constexpr std::uint32_t kIpv6 = 1500 - 48;
constexpr std::uint32_t kJumbo = 9000 - 48;

TEST(Format, ChunksFillThePath) {
  for (const std::uint32_t bytes : {kIpv4, kIpv6}) {
    EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = bytes}), 352U);
    EXPECT_EQ(chunk_elements(kI32, {.datagram_bytes_max = bytes}), 352U);
  }
  EXPECT_EQ(chunk_elements(kBfp16, {.datagram_bytes_max = kIpv4}), 704U);
  EXPECT_EQ(chunk_elements(kBfp8, {.datagram_bytes_max = kIpv4}), 1376U);
  EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = kJumbo}), 2048U);
  EXPECT_EQ(chunk_elements(kBfp8, {.datagram_bytes_max = kJumbo}), 8192U);
  EXPECT_EQ(chunk_elements(kF64, {.datagram_bytes_max = kIpv4}), 320U);
  EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = kIpv4, .elements_max = 64}), 64U);
}

TEST(Format, ATreeKeepsRoomForExactLanes) {
  EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = kIpv4, .tree = true}), 160U);
  EXPECT_EQ(chunk_elements(kBfp8, {.datagram_bytes_max = kIpv4, .tree = true}), 160U);
  EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = kJumbo, .tree = true}), 1056U);
  EXPECT_EQ(chunk_elements(kI32, {.datagram_bytes_max = kIpv4, .tree = true}), 352U);
  EXPECT_LE(datagram_bytes(Kind::partial, kBfp32, 160, true), kIpv4);
}

TEST(Format, TooSmallAPathHoldsNothing) {
  EXPECT_EQ(chunk_elements(kBfp32, {.datagram_bytes_max = 100}), 0U);
}

// Compares with the definition: the largest multiple of the layout's granule that fits.
void expect_largest(ElementLayout layout, std::uint32_t elements_max, bool is_tree) {
  const bool has_blocks =
      layout.is_block_float() || (is_float(layout.dtype) && layout.format == WireFormat::i32);
  const std::uint32_t step = has_blocks ? layout.block_elements() : 16;
  const auto bytes_of = [&](std::uint32_t elements) -> std::size_t {
    if (is_tree && layout.is_block_float()) {
      return datagram_bytes(Kind::partial, layout, elements, true);
    }
    return INFOLD_HEADER_BYTES + layout.payload_bytes(elements);
  };
  const std::uint32_t most = std::min(
      {elements_max, INFOLD_PAYLOAD_BYTES_MAX / layout.element_bytes(), std::uint32_t{8192}});
  std::uint32_t wanted = 0;
  for (std::uint32_t bytes = 0; bytes <= 70'000; bytes += 23) {
    while (wanted + step <= most && bytes_of(wanted + step) <= bytes) wanted += step;
    const ChunkLimits limits = {bytes, elements_max, is_tree};
    ASSERT_EQ(chunk_elements(layout, limits), wanted)
        << bytes << " bytes, " << format_name(layout.format) << " of "
        << data_type_name(layout.dtype);
  }
}

TEST(Format, ChunksAreTheLargestThatFit) {
  for (unsigned format = INFOLD_FORMAT_I8; format <= INFOLD_FORMAT_BFP32; ++format) {
    for (unsigned dtype = INFOLD_DTYPE_F32; dtype <= INFOLD_DTYPE_I64; ++dtype) {
      const ElementLayout layout = {static_cast<WireFormat>(format), static_cast<DataType>(dtype)};
      for (const std::uint32_t elements_max : {0U, 15U, 16U, 1056U, 8192U, ~0U}) {
        expect_largest(layout, elements_max, false);
        expect_largest(layout, elements_max, true);
      }
    }
  }
}

TEST(Format, ExponentsCostATenthOfAByteLess) {  // 4.04, 2.04 and 1.04 bytes
  const auto per_element = [](ElementLayout layout, std::uint32_t elements) {
    return layout.payload_bytes(elements) / static_cast<double>(elements);
  };
  EXPECT_LE(per_element(kBfp32, 352), 4.04);
  EXPECT_LE(per_element(kBfp16, 704), 2.04);
  EXPECT_LE(per_element(kBfp8, 1376), 1.04);
  EXPECT_LE(per_element(kF64, 320), 4.04);
}

TEST(Format, SpreadLeavesRoomForEveryRank) {
  EXPECT_EQ(exponent_spread_max(kBfp32, 8), 29);
  EXPECT_EQ(exponent_spread_max(kBfp16, 8), 45);
  EXPECT_EQ(exponent_spread_max(kBfp8, 8), 53);
  EXPECT_EQ(exponent_spread_max(kBfp32, 256), 24);
  EXPECT_EQ(exponent_spread_max(kBfp32, 257), 23);
  EXPECT_EQ(exponent_spread_max(kBfp8, 1), 56);
}

TEST(Format, CodesCoverEveryFloat) {
  EXPECT_EQ(kBfp32.unit_exponent(1), -149);
  EXPECT_EQ(kBfp16.unit_exponent(1), -133);
  EXPECT_EQ(kBfp8.unit_exponent(1), -125);
  // The largest f32 of 256 ranks sum to less than 2^136.
  EXPECT_EQ(kBfp32.unit_exponent(kBfp32.exponent_code_max()), 135 - 30);
  EXPECT_LT(kF64.unit_exponent(1), -1074);
}

}  // namespace
}  // namespace infold::core
