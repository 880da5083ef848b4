// SPDX-License-Identifier: Apache-2.0
#include "io/address/listen.h"

#include <cerrno>
#include <string_view>

#include <gtest/gtest.h>

#include "io/udp/udp_socket.h"

namespace infold::io {
namespace {

SocketAddress address_of(const FileDescriptor& socket) {
  sockaddr_storage bound = {};
  socklen_t bytes = sizeof(bound);
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &bytes), 0);
  return {reinterpret_cast<sockaddr*>(&bound), bytes};
}

TEST(Listen, SaysWhyAnAddressCannotBeHad) {
  const auto free = SocketAddress::parse("127.0.0.1:0", "test");
  const auto listener = listen_at(*free, "join");
  ASSERT_TRUE(listener);
  const auto taken = listen_at(address_of(*listener), "join");
  ASSERT_FALSE(taken);
  EXPECT_STREQ(taken.error().where, "join");
  EXPECT_STREQ(taken.error().detail, "the address is in use");
  // This range is reserved for documentation, so no host has an address in it.
  const auto foreign = listen_at(*SocketAddress::parse("192.0.2.1:7700", "test"), "join");
  ASSERT_FALSE(foreign);
  EXPECT_STREQ(foreign.error().detail, "this host has no such address");
}

// Only the text is tested, because tests may run as root, and root may take any port.
TEST(Listen, NamesThePrivilegeOfLowPorts) {
  EXPECT_NE(std::string_view(bind_problem(EACCES)).find("below 1024"), std::string_view::npos);
}

}  // namespace
}  // namespace infold::io
