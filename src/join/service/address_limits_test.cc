// SPDX-License-Identifier: Apache-2.0
#include "join/service/address_limits.h"

#include <gtest/gtest.h>

#include "join/service/address_limits.h"

namespace infold::join::testing {
namespace {

io::SocketAddress at(const std::string& text) {
  return *io::SocketAddress::parse_number(text, "test");
}

TEST(AddressLimits, AnAddressIsAHostWhateverItsPorts) {
  EXPECT_EQ(limited_address(at("10.0.0.1:1")), "10.0.0.1");
  EXPECT_EQ(limited_address(at("[fd00:1:2:3:4:5:6:7]:1")), "fd00:1:2:3::/64");
  EXPECT_EQ(limited_address(at("[fd00:1:2:3::1]:9")), "fd00:1:2:3::/64");
}

TEST(AddressLimits, CountsAllAndEach) {
  AddressCounts counts(3, 2);
  using Taken = AddressCounts::Taken;
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.take("a"), Taken::address_full);
  EXPECT_EQ(counts.take("b"), Taken::yes);
  EXPECT_EQ(counts.take("b"), Taken::all_full);
  counts.give_back("a");
  EXPECT_EQ(counts.take("a"), Taken::yes);
  EXPECT_EQ(counts.count(), 3U);
}

TEST(AddressLimits, ARateHoldsForEachAddressAndIsForgotten) {
  AddressRates rates(2, 4);
  base::Instant now{0};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(rates.take("a", now));
  EXPECT_FALSE(rates.take("a", now));
  EXPECT_TRUE(rates.take("b", now));
  now = now + base::milliseconds(500);
  EXPECT_TRUE(rates.take("a", now));
  EXPECT_FALSE(rates.take("a", now));
  for (int address = 0; address < 10'000; ++address) {
    now = now + base::milliseconds(10);
    EXPECT_TRUE(rates.take(std::to_string(address), now));
  }
  EXPECT_LE(rates.addresses(), 500U);
}

TEST(AddressLimits, ADebtIsPaidInTimeAndIsNeverMoreThanABucket) {
  AddressRates rates(2, 4);
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

TEST(AddressLimits, WhatHasComeIsOwedByItsAmount) {
  AddressRates rates(1000, 4000);
  base::Instant now{0};
  EXPECT_TRUE(rates.take_or_owe("a", now, 3000));
  EXPECT_FALSE(rates.take_or_owe("a", now, 1500));
  EXPECT_TRUE(rates.is_empty("a", now + base::milliseconds(500)));
  EXPECT_FALSE(rates.is_empty("a", now + base::milliseconds(502)));
  EXPECT_FALSE(rates.take_or_owe("a", now, 1e12));
  EXPECT_TRUE(rates.is_empty("a", now + base::seconds(4)));
  EXPECT_FALSE(rates.is_empty("a", now + base::milliseconds(4'002)));
}

}  // namespace
}  // namespace infold::join::testing
