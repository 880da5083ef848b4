// SPDX-License-Identifier: Apache-2.0
//
// Compares the bounds with sums by hand, and with what predict counts for whole tensors.
#include "study/reproduce/packet_bound.h"

#include <gtest/gtest.h>

#include "study/predict/link_bytes.h"
#include "study/sim/network/link.h"

namespace infold::reproduce {
namespace {

TEST(PacketBound, SwitchmlFramesAreThePublishedOnes) {
  EXPECT_EQ(switchml_udp_frame(64).bytes, 332U);
  EXPECT_EQ(switchml_udp_frame(256).bytes, 1100U);
  EXPECT_EQ(switchml_rdma_frame(256).bytes, 1106U);
  EXPECT_NEAR(switchml_udp_frame(64).payload_share(), 0.771, 0.0005);
  EXPECT_NEAR(switchml_udp_frame(64).elements_per_second(10e9), 241e6, 0.5e6);
  EXPECT_NEAR(switchml_rdma_frame(256).elements_per_second(100e9), 2.89e9, 0.005e9);
}

// 14 + 20 + 8 + 32 + 4 + 256 + 4 + 20, and 14 + 20 + 8 + 32 + 8 + 1024 + 4 + 20.
TEST(PacketBound, InfoldFramesHaveALongerHeader) {
  EXPECT_EQ(infold_frame(64).bytes, 358U);
  EXPECT_EQ(infold_frame(256).bytes, 1130U);
  EXPECT_NEAR(infold_frame(64).elements_per_second(10e9), 223.46e6, 0.01e6);
}

TEST(PacketBound, PredictCountsTheSameBytes) {
  constexpr core::ElementLayout kLayout{core::WireFormat::bfp32, core::DataType::f32};
  const std::uint32_t overhead = static_cast<std::uint32_t>(sim::kFrameOverheadBytes);
  for (const std::uint32_t elements : {64U, 256U}) {
    const std::uint32_t bytes = infold_frame(elements).bytes;
    // This MTU holds this chunk but no larger one.
    const predict::Framing framing{.mtu = bytes - 38};
    EXPECT_EQ(predict::passage_of(kLayout, elements * 1'000ULL, framing).link_bytes,
              bytes * 1'000ULL);
    EXPECT_EQ(bytes - overhead, framing.mtu - 28);
  }
}

// Each of eight workers sends 1.75 tensors. A segment of 1448 bytes takes 1538 bytes on the link.
TEST(PacketBound, ARingMovesNearlyTwoTensors) {
  EXPECT_NEAR(ring_elements_per_second(10e9, 8), 10e9 / 32 * (1448.0 / 1538) / 1.75, 1e3);
  EXPECT_NEAR(ring_elements_per_second(10e9, 2), 10e9 / 32 * (1448.0 / 1538), 1e3);
}

}  // namespace
}  // namespace infold::reproduce
