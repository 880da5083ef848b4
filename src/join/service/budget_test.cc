// SPDX-License-Identifier: Apache-2.0
//
// The memory that a server states, with and without keys.
#include <gtest/gtest.h>

#include "io/host/descriptors.h"
#include "join/connection/tls_session.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::join::testing {
namespace {

constexpr std::size_t kBesideSlots = 256'000'000;

JoinServer::Budget budget_with(const ServerOptions& options) {
  FakePlane plane(1);
  JobRegistry registry(&plane);
  const auto server =
      JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry, options);
  return (*server)->budget();
}

TEST(Budget, IsBelow256MegabytesWithKeysAndWithout) {
  io::raise_descriptor_limit(kDescriptorsWanted);
  ServerOptions options;
  const JoinServer::Budget plain = budget_with(options);
  EXPECT_LE(plain.memory_bytes, kBesideSlots);
  options.identity = *keys::Identity::make();
  const JoinServer::Budget secured = budget_with(options);
  EXPECT_LE(secured.memory_bytes, kBesideSlots);
  EXPECT_LE(secured.connections, kTlsConnectionsMax);
  EXPECT_GE(secured.memory_bytes,
            TlsSession::kOpenMemory * secured.connections + options.limits.reply_bytes_max);
}

}  // namespace
}  // namespace infold::join::testing
