// SPDX-License-Identifier: Apache-2.0
#include "join/service/connection_gate.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/host/clock.h"

namespace infold::join::testing {
namespace {

void ignore(const JoinEvent&) {}

TEST(ConnectionGate, SaysWhichLimitARankMeets) {
  std::vector<std::string> logged;
  ConnectionGate gate({.connections_max = 3,
                       .connections_of_address_max = 2,
                       .hellos_per_second = 1,
                       .hellos_at_once = 1},
                      [&](const JoinEvent& event) { logged.push_back(event.reason); });
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

TEST(ConnectionGate, LimitsHowFastAnAddressOpensConnections) {
  ConnectionGate gate({.openings_per_second = 1, .openings_at_once = 2}, ignore);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(gate.open("a").has_value());
    gate.close("a");
  }
  EXPECT_EQ(gate.open("a").error().message, "more than 1 connections a second are opened from a");
  EXPECT_TRUE(gate.open("b").has_value());
}

TEST(ConnectionGate, LetsAnAddressSendNoMoreOnceItHasSentTooMuch) {
  int events = 0;
  ConnectionGate gate({.bytes_per_second_of_address = 1000, .bytes_at_once_of_address = 2000},
                      [&](const JoinEvent&) { ++events; });
  const base::Instant now = io::monotonic_now();
  gate.note_sent("a", 1500, now);
  EXPECT_TRUE(gate.may_send("a", now));
  EXPECT_EQ(events, 0);
  gate.note_sent("a", 1500, now);
  EXPECT_FALSE(gate.may_send("a", now));
  EXPECT_EQ(events, 1);
  EXPECT_TRUE(gate.may_send("b", now));
  EXPECT_TRUE(gate.may_send("a", now + base::seconds(2)));
}

TEST(ConnectionGate, HoldsRepliesUpToItsLimitForEachAddressAndInAll) {
  ConnectionGate gate({.reply_bytes_max = 300, .reply_bytes_of_address_max = 200}, ignore);
  EXPECT_TRUE(gate.hold_reply("a", 150).has_value());
  EXPECT_FALSE(gate.hold_reply("a", 100).has_value());
  EXPECT_TRUE(gate.hold_reply("b", 150).has_value());
  EXPECT_FALSE(gate.hold_reply("c", 1).has_value());
  gate.release_reply("a", 150);
  EXPECT_TRUE(gate.hold_reply("c", 1).has_value());
}

}  // namespace
}  // namespace infold::join::testing
