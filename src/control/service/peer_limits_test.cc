// SPDX-License-Identifier: Apache-2.0
#include "control/service/peer_limits.h"

#include <gtest/gtest.h>

#include "control/service/stream_gate.h"

namespace infold::control::testing {
namespace {

io::SocketAddress at(const std::string& text) {
  return *io::SocketAddress::parse_number(text, "test");
}

TEST(PeerLimits, APeerIsAHostWhateverItsPorts) {
  EXPECT_EQ(peer_of(at("10.0.0.1:1")), "10.0.0.1");
  EXPECT_EQ(peer_of(at("[fd00:1:2:3:4:5:6:7]:1")), "fd00:1:2:3::/64");
  EXPECT_EQ(peer_of(at("[fd00:1:2:3::1]:9")), "fd00:1:2:3::/64");
}

TEST(PeerLimits, CountsAllAndEach) {
  PeerCounts counts(3, 2);
  using Taken = PeerCounts::Taken;
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.take("a"), Taken::peer_full);
  EXPECT_EQ(counts.take("b"), Taken::yes);
  EXPECT_EQ(counts.take("b"), Taken::all_full);
  counts.give_back("a");
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.count(), 3U);
}

TEST(PeerLimits, ARateHoldsForEachPeerAndIsForgotten) {
  PeerRates rates(2, 4);
  base::Instant now{0};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.take("a", now));
  EXPECT_FALSE(rates.take("a", now));
  EXPECT_TRUE(rates.take("b", now));
  now = now + base::milliseconds(500);
  EXPECT_TRUE(rates.take("a", now));
  EXPECT_FALSE(rates.take("a", now));
  for (int peer = 0; peer < 10'000; ++peer) {
    now = now + base::milliseconds(10);
    EXPECT_TRUE(rates.take(std::to_string(peer), now));
  }
  EXPECT_LE(rates.peers(), 500U);
}

TEST(PeerLimits, ADebtIsPaidInTimeAndIsNeverMoreThanABucket) {
  PeerRates rates(2, 4);
  base::Instant now{0};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.take_or_owe("a", now));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(rates.take_or_owe("a", now));
  EXPECT_FALSE(rates.is_empty("b", now));
  now = now + base::milliseconds(2'400);
  EXPECT_TRUE(rates.is_empty("a", now));
  now = now + base::milliseconds(100);
  EXPECT_FALSE(rates.is_empty("a", now));
  EXPECT_TRUE(rates.take_or_owe("a", now));
}

TEST(PeerLimits, WhatHasComeIsOwedByItsAmount) {
  PeerRates rates(1000, 4000);
  base::Instant now{0};
  EXPECT_TRUE(rates.take_or_owe("a", now, 3000));
  EXPECT_FALSE(rates.take_or_owe("a", now, 1500));
  EXPECT_TRUE(rates.is_empty("a", now + base::milliseconds(500)));
  EXPECT_FALSE(rates.is_empty("a", now + base::milliseconds(502)));
  EXPECT_FALSE(rates.take_or_owe("a", now, 1e12));
  EXPECT_TRUE(rates.is_empty("a", now + base::seconds(4)));
  EXPECT_FALSE(rates.is_empty("a", now + base::milliseconds(4'002)));
}

TEST(StreamGate, SaysWhichLimitARankMeets) {
  std::vector<std::string> logged;
  StreamGate gate(
      {.streams_max = 3, .streams_of_peer_max = 2, .hellos_per_second = 1, .hellos_at_once = 1},
      [&](const ControlEvent& event) { logged.push_back(event.reason); });
  EXPECT_TRUE(gate.open("a").has_value());
  EXPECT_TRUE(gate.open("a").has_value());
  EXPECT_EQ(gate.open("a").error().message,
            "2 ranks at a have joined here or want to, which is the limit for one address");
  EXPECT_TRUE(gate.open("b").has_value());
  EXPECT_EQ(gate.open("c").error().message,
            "3 ranks have joined here or want to, which is the limit");
  gate.close("a");
  EXPECT_TRUE(gate.open("c").has_value());
  EXPECT_TRUE(gate.hello("a").has_value());
  EXPECT_EQ(gate.hello("a").error().message, "more than 1 ranks a second want to join from a");
  EXPECT_EQ(logged.size(), 3U);
}

TEST(StreamGate, LetsAPeerPayForStreamsBeyondItsRate) {
  StreamGate gate({.openings_per_second = 1, .openings_at_once = 2}, [](const ControlEvent&) {});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(gate.open("a").has_value());
    gate.close("a");
  }
  EXPECT_EQ(gate.open("a").error().message, "more than 1 streams a second are opened from a");
  EXPECT_FALSE(gate.may_connect("a"));
  EXPECT_TRUE(gate.may_connect("b"));
  EXPECT_TRUE(gate.open("b").has_value());
}

}  // namespace
}  // namespace infold::control::testing
