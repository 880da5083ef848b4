// SPDX-License-Identifier: Apache-2.0
//
// A rack's switch joins a parent that uses keys, and only that parent.
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join/relay/rack_relay_testing.h"
#include "keys/certificate.h"

namespace infold::join::testing {
namespace {

// A parent with an identity, and a rack that expects a certificate there.
struct SecuredRack {
  SecuredRack(const keys::Identity& own, const keys::Identity& expected)
      : parent(std::move(*JoinServer::start(kAnyPort, registry, with(own)))),
        relay(leaf_plane, uplink, options(parent->address(), expected)),
        server(std::move(*JoinServer::start(kAnyPort, relay))) {}

  static ServerOptions with(const keys::Identity& own) {
    ServerOptions options;
    options.identity = own;
    options.on_event = [](const JoinEvent&) {};
    return options;
  }
  static RackRelayOptions options(const io::SocketAddress& parent, const keys::Identity& expected) {
    RackRelayOptions options;
    options.parent = parent;
    options.address = "rack:1";
    options.identity = "life";
    options.parent_fingerprint = expected.fingerprint();
    return options;
  }

  FakePlane plane{1}, leaf_plane{1};
  JobRegistry registry{&plane};
  std::unique_ptr<JoinServer> parent;
  FakeUplink uplink;
  RackRelay relay;
  std::unique_ptr<JoinServer> server;
};

TEST(RackRelayTls, AParentWithKeysIsJoined) {
  const keys::Identity identity = *keys::Identity::make();
  const SecuredRack rack(identity, identity);
  const auto link = JobLink::join(rack.server->address().text(), hello_of(0, 1), {});
  ASSERT_TRUE(link.has_value()) << link.error().message;
  const Answer<void> ready = (*link)->ready({});
  EXPECT_TRUE(ready.has_value()) << ready.error().message;
}

TEST(RackRelayTls, AnotherParentIsRefusedAndTheRankHearsWhy) {
  const keys::Identity identity = *keys::Identity::make(), other = *keys::Identity::make();
  const SecuredRack rack(identity, other);
  const auto link = JobLink::join(rack.server->address().text(), hello_of(0, 1), {});
  ASSERT_FALSE(link.has_value());
  EXPECT_EQ(link.error().reason, RefusalReason::invalid);
  EXPECT_THAT(link.error().message, ::testing::HasSubstr("the switch's parent"));
  EXPECT_THAT(link.error().message, ::testing::HasSubstr(identity.fingerprint().text()));
  EXPECT_THAT(link.error().message, ::testing::HasSubstr(other.fingerprint().text()));
}

}  // namespace
}  // namespace infold::join::testing
