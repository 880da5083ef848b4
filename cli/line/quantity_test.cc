// SPDX-License-Identifier: Apache-2.0
//
// Tests texts that people type, and texts that must be refused.
#include "cli/line/quantity.h"

#include <gtest/gtest.h>

namespace infold::cli {
namespace {

TEST(Quantity, ReadsRates) {
  EXPECT_EQ(parse_rate("10G"), 10e9);
  EXPECT_EQ(parse_rate("100mbit"), 100e6);
  EXPECT_EQ(parse_rate("2.5Gbit/s"), 2.5e9);
  EXPECT_EQ(parse_rate("40gbps"), 40e9);
  EXPECT_EQ(parse_rate("1000000"), 1e6);
  EXPECT_EQ(parse_rate("1.6Tbit"), 1.6e12);
}

TEST(Quantity, RefusesTextsThatAreNoRate) {
  for (const char* typed : {"", "G", "fast", "10GB", "10Gb", "-1G", "10 G", "1e9", "nan", "inf",
                            "10GG", "0x10G", "10Gi", "10GBps"}) {
    EXPECT_FALSE(parse_rate(typed)) << typed;
  }
  EXPECT_EQ(hint_of_rate("100MB/s"), "; rates are in bits: 100MB/s is 800Mbit");
  EXPECT_EQ(hint_of_rate("1GBps"), "; rates are in bits: 1GBps is 8Gbit");
  for (const char* typed : {"", "fast", "100Mb/s", "100/s", "B/s"}) {
    EXPECT_EQ(hint_of_rate(typed), "") << typed;
  }
}

TEST(Quantity, ReadsSizes) {
  EXPECT_EQ(parse_bytes("100MB"), 100'000'000U);
  EXPECT_EQ(parse_bytes("25MiB"), 26'214'400U);
  EXPECT_EQ(parse_bytes("4"), 4U);
  EXPECT_EQ(parse_bytes("8M"), 8U << 20);
  EXPECT_EQ(parse_bytes("64k"), 65'536U);
  EXPECT_EQ(parse_bytes("0.5g"), 1U << 29);
  EXPECT_EQ(parse_bytes("1Mi"), 1'048'576U);
  EXPECT_EQ(parse_bytes("4B"), 4U);
  EXPECT_EQ(parse_bytes("1.5kb"), 1500U);
  EXPECT_EQ(parse_bytes("1TB"), 1'000'000'000'000U);
}

TEST(Quantity, RefusesTextsThatAreNoSize) {
  for (const char* typed : {"", "MB", "1.5", "0.3B", "-1", "100Mbit", "1e6", "99999999TB"}) {
    EXPECT_FALSE(parse_bytes(typed)) << typed;
  }
}

TEST(Quantity, ReadsItsOwnTextsBack) {
  EXPECT_EQ(short_rate(10e9), "10G");
  EXPECT_EQ(short_rate(2.5e9), "2.5G");
  EXPECT_EQ(short_rate(1e12), "1T");
  EXPECT_EQ(short_rate(1), "1");
  EXPECT_EQ(short_bytes(100'000'000), "100MB");
  EXPECT_EQ(short_bytes(26'214'400), "25MiB");
  EXPECT_EQ(short_bytes(std::uint64_t{1} << 32), "4GiB");
  EXPECT_EQ(short_bytes(1'000'000'007), "1000000007B");
  EXPECT_EQ(short_bytes(1), "1B");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  for (const double rate : {1e6, 1.234e9, 123'456'789.0, 400e9}) {
    EXPECT_EQ(parse_rate(short_rate(rate)), rate);
  }
  for (const std::uint64_t bytes : {1, 999, 1000, 1024, 1536, 65'536, 100'000'000}) {
    EXPECT_EQ(parse_bytes(short_bytes(bytes)), bytes);
  }
}

}  // namespace
}  // namespace infold::cli
