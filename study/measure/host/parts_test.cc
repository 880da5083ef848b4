// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/parts.h"

#include <gtest/gtest.h>

namespace infold::measure {
namespace {

TEST(HostParts, EachIsTheDifferenceOfTwoMeasurements) {
  const AloneTimes times = {.codec_s = 0.125,
                            .machine_cached_s = 0.25,
                            .machine_s = 0.75,
                            .sockets_s = 0.5,
                            .sockets_headers_s = 0.1875};
  const HostParts parts = parts_of(times);
  EXPECT_EQ(parts.encode_s, 0.125);
  EXPECT_EQ(parts.packets_s, 0.125);
  EXPECT_EQ(parts.memory_s, 0.5);
  EXPECT_EQ(parts.copies_s, 0.3125);
  EXPECT_EQ(parts.calls_s, 0.1875);
  EXPECT_EQ(parts.cross_s, 0);
  EXPECT_EQ(sum_of(parts), times.machine_s + times.sockets_s);
}

TEST(HostParts, WhatCrossingCoresCostsIsAPartOfItsOwn) {
  AloneTimes times = {.sockets_s = 0.5, .sockets_headers_s = 0.1875};
  times.sockets_apart_s = 0.75;
  EXPECT_EQ(parts_of(times).copies_s, 0.3125);
  EXPECT_EQ(parts_of(times).cross_s, 0.25);
  EXPECT_EQ(sum_of(parts_of(times)), 0.75);
}

TEST(HostParts, PayloadsThatTheKernelReadsFromMemoryCountAsMemory) {
  AloneTimes times = {.machine_cached_s = 0.25, .machine_s = 0.375, .sockets_s = 0.5};
  times.sockets_memory_s = 0.625;
  EXPECT_EQ(parts_of(times).memory_s, 0.25);
  EXPECT_EQ(parts_of(times).cross_s, 0);
}

TEST(HostParts, TheBoundIsOneCopyInMemoryAndTwoOrThreeOfPackets) {
  const CopyTimes copies = {.memory_s = 0.25, .cache_s = 0.125};
  EXPECT_EQ(bound_s(copies, 1, true), 0.625);
  EXPECT_EQ(bound_s(copies, 0.5, true), 0.4375);
  EXPECT_EQ(bound_s(copies, 1, false), 0.5);
}

}  // namespace
}  // namespace infold::measure
