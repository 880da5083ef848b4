// SPDX-License-Identifier: Apache-2.0
#include "keys/token/rendezvous_keys.h"

#include <string>

#include <gtest/gtest.h>

namespace infold::keys {
namespace {

const std::string kShared = "a text that all ranks share";

// Each rank makes them by itself.
TEST(RendezvousKeys, AreTheSameForAllWhoHaveTheText) {
  const auto one = RendezvousKeys::of(kShared);
  const auto other = RendezvousKeys::of(kShared);
  ASSERT_TRUE(one.has_value() && other.has_value());
  EXPECT_EQ(one->identity.fingerprint().text(), other->identity.fingerprint().text());
  EXPECT_TRUE(one->keyring.check(other->token, 0).has_value());
}

TEST(RendezvousKeys, OfTwoTextsHaveNothingInCommon) {
  const auto one = RendezvousKeys::of(kShared);
  const auto other = RendezvousKeys::of(kShared + ".");
  EXPECT_NE(one->identity.fingerprint().text(), other->identity.fingerprint().text());
  EXPECT_EQ(one->keyring.check(other->token, 0).error(), TokenFault::unknown_secret);
}

// Libraries and machines must agree on every byte of the certificate.
TEST(RendezvousKeys, DoNotChangeWithTheVersion) {
  EXPECT_EQ(RendezvousKeys::of(kShared)->identity.fingerprint().text(),
            "j1NgGS6Kz5VYLCSddgHHWgl1nFyVYnEOfrVEnaqDtiY");
}

TEST(RendezvousKeys, ATextThatCanBeGuessedIsRefused) {
  EXPECT_FALSE(RendezvousKeys::of("").has_value());
  EXPECT_FALSE(RendezvousKeys::of(std::string(15, 'a')).has_value());
  EXPECT_TRUE(RendezvousKeys::of(std::string(16, 'a')).has_value());
  EXPECT_FALSE(RendezvousKeys::of(std::string(1025, 'a')).has_value());
}

}  // namespace
}  // namespace infold::keys
