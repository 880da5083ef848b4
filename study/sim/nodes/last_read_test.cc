// SPDX-License-Identifier: Apache-2.0
//
// A packet that is written again must be parsed again, even in the same buffer.
#include "study/sim/nodes/last_read.h"

#include <gtest/gtest.h>

namespace infold::sim {
namespace {

void write(PacketPool& packets, PacketIndex packet, std::uint16_t slot) {
  core::Header header;
  header.kind = core::Kind::query;
  header.slot = slot;
  core::write_header(header, packets.room(packet));
  packets.set_bytes(packet, INFOLD_HEADER_BYTES);
}

TEST(LastRead, IsTheDatagramThatIsInTheBufferNow) {
  PacketPool packets(2, 1472);
  LastRead last_read;
  const PacketIndex first = packets.take();
  write(packets, first, 7);
  ASSERT_NE(last_read.parse(packets, first), nullptr);
  EXPECT_EQ(last_read.parse(packets, first)->header.slot, 7);
  write(packets, first, 8);
  EXPECT_EQ(last_read.parse(packets, first)->header.slot, 8);
  packets.release(first);
  const PacketIndex again = packets.take();
  ASSERT_EQ(again, first);
  write(packets, again, 9);
  EXPECT_EQ(last_read.parse(packets, again)->header.slot, 9);
  const PacketIndex other = packets.take();
  write(packets, other, 10);
  EXPECT_EQ(last_read.parse(packets, other)->header.slot, 10);
  EXPECT_EQ(last_read.parse(packets, again)->header.slot, 9);
}

TEST(LastRead, IsNullWhereTheDatagramIsMalformed) {
  PacketPool packets(1, 1472);
  LastRead last_read;
  const PacketIndex packet = packets.take();
  write(packets, packet, 7);
  EXPECT_NE(last_read.parse(packets, packet), nullptr);
  packets.room(packet)[0] = std::byte{0};
  EXPECT_EQ(last_read.parse(packets, packet), nullptr);
  EXPECT_EQ(last_read.parse(packets, packet), nullptr);
}

}  // namespace
}  // namespace infold::sim
