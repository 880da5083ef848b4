// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/handshake_places.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace infold::join::testing {
namespace {

TEST(HandshakePlaces, AreFewAndFewerForOneAddress) {
  HandshakePlaces places(3, 2);
  EXPECT_TRUE(places.take("a", 1));
  EXPECT_TRUE(places.take("a", 2));
  EXPECT_FALSE(places.take("a", 3));
  EXPECT_TRUE(places.take("b", 4));
  EXPECT_FALSE(places.take("c", 5));
  EXPECT_EQ(places.taken(), 3U);
  EXPECT_EQ(places.waiting(), 2U);
}

TEST(HandshakePlaces, GoToTheAddressesInTurn) {
  HandshakePlaces places(1, 1);
  EXPECT_TRUE(places.take("a", 1));
  for (const int connection : {2, 3, 4}) EXPECT_FALSE(places.take("a", connection));
  EXPECT_FALSE(places.take("b", 5));
  EXPECT_FALSE(places.take("c", 6));
  EXPECT_EQ(places.give_back("a"), 2);
  EXPECT_EQ(places.give_back("a"), 5);
  EXPECT_EQ(places.give_back("b"), 6);
  EXPECT_EQ(places.give_back("c"), 3);
  EXPECT_EQ(places.give_back("a"), 4);
  EXPECT_EQ(places.give_back("a"), std::nullopt);
  EXPECT_EQ(places.taken(), 0U);
}

// The flooder's connections hold their places, and many more of them wait.
TEST(HandshakePlaces, AnAddressThatHoldsItsShareDoesNotHoldUpAnother) {
  HandshakePlaces places(4, 3);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(places.take("flooder", i), i < 3);
  EXPECT_TRUE(places.take("honest", 1000));
  EXPECT_FALSE(places.take("honest", 1001));
  EXPECT_EQ(places.give_back("honest"), 1001);
  EXPECT_EQ(places.give_back("honest"), std::nullopt);
  EXPECT_EQ(places.give_back("flooder"), 3);
}

TEST(HandshakePlaces, ForgetThoseThatWaitNoLonger) {
  HandshakePlaces places(1, 1);
  EXPECT_TRUE(places.take("a", 1));
  EXPECT_FALSE(places.take("b", 2));
  EXPECT_FALSE(places.take("b", 3));
  places.forget("b", 2);
  places.forget("c", 4);
  EXPECT_EQ(places.give_back("a"), 3);
  EXPECT_EQ(places.waiting(), 0U);
}

}  // namespace
}  // namespace infold::join::testing
