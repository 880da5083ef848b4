// SPDX-License-Identifier: Apache-2.0
#include "io/address/socket_address.h"

#include <gtest/gtest.h>

namespace infold::io {
namespace {

SocketAddress address(const char* text) {
  const base::Result<SocketAddress> found = SocketAddress::parse(text, "test");
  EXPECT_TRUE(found.has_value());
  return found.value_or(SocketAddress{});
}

TEST(SocketAddress, ReadsWhatItWrites) {
  for (const char* text : {"10.1.2.3:80", "[fd00::1]:7700", "0.0.0.0:0"}) {
    EXPECT_EQ(address(text).text(), text);
  }
  EXPECT_TRUE(address(":7700").is_any());
  // The same link-local text means a different address on each interface.
  const SocketAddress on_lo = address("[fe80::1%lo]:80");
  EXPECT_EQ(on_lo.text(), "[fe80::1%lo]:80");
  EXPECT_EQ(on_lo.host_text(), "fe80::1%lo");
  EXPECT_EQ(on_lo.text_elsewhere(), "[fe80::1]:80");
  SocketAddress named_elsewhere = address("[fe80::1]:80");
  EXPECT_FALSE(named_elsewhere == on_lo);
  named_elsewhere.take_link(address("[fe80::2%lo]:1"));
  EXPECT_EQ(named_elsewhere, on_lo);
  for (const char* text : {"10.1.2.3", "10.1.2.3:x", "10.1.2.3:70000", "fd00::1:80", ":-1"}) {
    EXPECT_FALSE(SocketAddress::parse(text, "--listen").has_value()) << text;
  }
}

TEST(SocketAddress, ComparesHostsWithoutPortsInAllWaysToWriteThem) {
  const auto host = [](const char* text) { return *SocketAddress::parse_host(text, "a host"); };
  EXPECT_TRUE(host("10.1.2.3").is_same_host(address("10.1.2.3:80")));
  EXPECT_TRUE(host("::ffff:10.1.2.3").is_same_host(address("10.1.2.3:80")));
  EXPECT_TRUE(host("fd00::1").is_same_host(address("[fd00:0::0:1]:80")));
  EXPECT_FALSE(host("10.1.2.3").is_same_host(address("10.1.2.4:0")));
  EXPECT_FALSE(host("fd00::1").is_same_host(address("[fd00::2]:0")));
  EXPECT_FALSE(host("::").is_same_host(address("0.0.0.0:0")));
  EXPECT_FALSE(SocketAddress().is_same_host(SocketAddress()));
  EXPECT_TRUE(host("fe80::1").is_same_host(address("[fe80::1%lo]:80")));
  EXPECT_EQ(host("fe80::1%lo").host_text_elsewhere(), "fe80::1");
  for (const char* text : {"", "10.1.2.3:80", "[fd00::1]", "somewhere.example"}) {
    EXPECT_FALSE(SocketAddress::parse_host(text, "a host").has_value()) << text;
  }
}

}  // namespace
}  // namespace infold::io
