// SPDX-License-Identifier: Apache-2.0
//
// PENDING names all missing ranks, or makes clear that its list is cut short.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "core/packet/packet.h"

namespace infold::core {
namespace {

std::vector<RankRange> every_second(std::uint16_t first, std::uint16_t count) {
  std::vector<RankRange> ranges;
  for (std::uint16_t i = 0; i < count; ++i) {
    ranges.push_back({static_cast<std::uint16_t>(first + 2 * i), 1});
  }
  return ranges;
}

// A PENDING packet that owns the memory of its body.
struct Pending {
  Pending(std::span<const RankRange> missing, PendingForm form) {
    const std::size_t bytes = write_missing(missing, form, 256, body.data());
    packet.header.kind = Kind::pending;
    packet.header.flags = form == PendingForm::bits ? INFOLD_FLAG_BITS : 0;
    packet.body = std::span(body).first(bytes);
  }
  std::array<std::byte, INFOLD_PENDING_BYTES_MAX> body{};
  Packet packet;
};

TEST(Notice, RanksThatPairsDoNotHoldAreBits) {
  EXPECT_EQ(form_of(PendingForm::either, every_second(0, 8)), PendingForm::ranges);
  EXPECT_EQ(form_of(PendingForm::either, every_second(0, 9)), PendingForm::bits);
  EXPECT_EQ(form_of(PendingForm::either, every_second(238, 9)), PendingForm::bits);
  EXPECT_EQ(form_of(PendingForm::either, every_second(240, 9)), PendingForm::ranges)
      << "bits end before rank 256";
  const std::vector<RankRange> adjacent = {{0, 1}, {1, 3}, {4, 1}, {5, 1}, {6, 1},
                                           {7, 1}, {8, 1}, {9, 1}, {10, 1}};
  EXPECT_EQ(form_of(PendingForm::either, adjacent), PendingForm::ranges);
  const std::vector<RankRange> missing = every_second(1, 100);
  EXPECT_EQ(form_of(PendingForm::ranges, missing), PendingForm::ranges);
  const Pending pending(missing, form_of(PendingForm::either, missing));
  for (std::uint16_t rank = 0; rank < 256; ++rank) {
    const bool is_missing = rank % 2 == 1 && rank < 201;
    EXPECT_EQ(presence_in(pending.packet, rank), is_missing ? Presence::missing : Presence::there);
  }
}

TEST(Notice, AFullListSaysNothingOfLaterRanks) {
  const Pending cut(every_second(10, 12), PendingForm::ranges);
  EXPECT_EQ(presence_in(cut.packet, 9), Presence::there);
  EXPECT_EQ(presence_in(cut.packet, 10), Presence::missing);
  EXPECT_EQ(presence_in(cut.packet, 11), Presence::there);
  EXPECT_EQ(presence_in(cut.packet, 24), Presence::missing);
  EXPECT_EQ(presence_in(cut.packet, 25), Presence::not_said);
  EXPECT_EQ(presence_in(cut.packet, 26), Presence::not_said);
  const Pending whole(every_second(10, 7), PendingForm::ranges);
  EXPECT_EQ(presence_in(whole.packet, 30), Presence::there);
}

}  // namespace
}  // namespace infold::core
