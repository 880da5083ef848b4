// SPDX-License-Identifier: Apache-2.0
//
// Compares sizes with counts by hand.
#include "study/predict/link_bytes.h"

#include <gtest/gtest.h>

namespace infold::predict {
namespace {

using core::DataType;
using core::WireFormat;

// 352 elements, 11 exponents padded to 12, header 32, UDP 8, IP 20, Ethernet 38.
constexpr std::uint64_t kFullPacket = 1408 + 12 + 32 + 8 + 20 + 38;

TEST(LinkBytes, OfAHundredMegabytesOfF32) {
  const Passage passage = passage_of({WireFormat::bfp32, DataType::f32}, 25'000'000, {});
  EXPECT_EQ(passage.chunks, 71'023U);
  // The last chunk has 256 elements in 8 blocks.
  EXPECT_EQ(passage.link_bytes, 71'022 * kFullPacket + (1024 + 8 + 32 + 8 + 20 + 38));
}

TEST(LinkBytes, OfASingleFloat) {
  const Passage passage = passage_of({WireFormat::bfp32, DataType::f32}, 1, {});
  EXPECT_EQ(passage.chunks, 1U);
  EXPECT_EQ(passage.link_bytes, 4U + 4 + 32 + 8 + 20 + 38);
}

TEST(LinkBytes, SmallerFormatsTakeFewerPackets) {
  const auto chunks = [](WireFormat format) {
    return passage_of({format, DataType::f32}, 704 * 1376, {}).chunks;
  };
  EXPECT_EQ(chunks(WireFormat::bfp32), 2U * 1376);
  EXPECT_EQ(chunks(WireFormat::bfp16), 1376U);
  EXPECT_EQ(chunks(WireFormat::bfp8), 704U);
}

TEST(LinkBytes, FramingIsTheCallersToChoose) {
  const core::ElementLayout layout{WireFormat::bfp32, DataType::f32};
  EXPECT_EQ(passage_of(layout, 352, {.frame_bytes = 14}).link_bytes, kFullPacket - 24);
  // IPv6 has a header that is 20 bytes longer, and 352 elements still fit.
  EXPECT_EQ(passage_of(layout, 352, {.ip_header_bytes = 40}).link_bytes, kFullPacket + 20);
  EXPECT_EQ(passage_of(layout, 2048, {.mtu = 9000}).chunks, 1U);
  EXPECT_EQ(passage_of({WireFormat::bfp32, DataType::f64}, 64, {.mtu = 576}).chunks, 1U);
}

TEST(LinkBytes, OfTcpSegments) {
  // Each segment has 1448 bytes of data, TCP with timestamps 32, IP 20 and Ethernet 38.
  EXPECT_EQ(tcp_link_bytes(0, {}), 0U);
  EXPECT_EQ(tcp_link_bytes(1448, {}), 1448U + 90);
  EXPECT_EQ(tcp_link_bytes(1449, {}), 1449U + 180);
  EXPECT_EQ(tcp_link_bytes(1'000'000, {}), 1'000'000U + 691 * 90);
}

TEST(LinkBytes, ElementsAreCountedUp) {
  EXPECT_EQ(tensor_elements(DataType::f32, 8), 2U);
  EXPECT_EQ(tensor_elements(DataType::f32, 9), 3U);
  EXPECT_EQ(tensor_elements(DataType::bf16, 9), 5U);
  EXPECT_EQ(tensor_elements(DataType::u8, 9), 9U);
  EXPECT_EQ(tensor_elements(DataType::f64, 1), 1U);
}

}  // namespace
}  // namespace infold::predict
