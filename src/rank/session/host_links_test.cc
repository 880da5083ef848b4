// SPDX-License-Identifier: Apache-2.0
//
// Tests a rank between two join servers.
#include "rank/session/host_links.h"

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/host/clock.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::rank {
namespace {

using join::testing::hello_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const io::SocketAddress kAnyPort = *io::SocketAddress::parse_number("127.0.0.1:0", "test");

struct Switch {
  Switch() : server(std::move(*join::JoinServer::start(kAnyPort, registry))) {}

  join::testing::FakePlane plane{1};
  join::JobRegistry registry{&plane};
  std::unique_ptr<join::JoinServer> server;
};

class Links : public ::testing::Test {
 protected:
  HostLinks::Options options() {
    HostLinks::Options options;
    for (const Switch* each : {&first_, &second_}) {
      const io::SocketAddress address = each->server->address();
      options.hosts.push_back({address.text(), address});
    }
    options.joins_by = options.connects_by = io::monotonic_now() + base::seconds(20);
    return options;
  }

  Switch first_, second_;
};

TEST_F(Links, OnlyTheFirstJoinServerHearsOfTheRanksOwnSite) {
  HostLinks links(options());
  join::Hello hello = hello_of(0, 1);
  hello.site = join::SiteAddress{"127.0.0.1:9000", 1, true};
  const Result<void> joined = links.join(hello);
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  const std::vector<HostTerms> hosts = links.host_terms();
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].terms->sites.size(), 2U);
  EXPECT_EQ(hosts[1].terms->sites.size(), 1U);
  EXPECT_TRUE(links.agree_on_groups());
  const Result<void> ready = links.ready({});
  ASSERT_TRUE(ready.has_value()) << ready.error().message;
  links.leave({});
  EXPECT_THAT(first_.registry.status(), IsEmpty());
  EXPECT_THAT(second_.registry.status(), IsEmpty());
}

TEST_F(Links, ARefusalOfOneJoinServerEndsTheWaitAtTheOther) {
  first_.plane.elements = 32;
  {
    HostLinks links(options());
    const Result<void> joined = links.join(hello_of(0, 1));
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().code, Code::invalid_argument);
    EXPECT_THAT(joined.error().message, HasSubstr("hold no block of some formats"));
    links.give_up(joined.error(), 0);
  }
  while (!second_.registry.status().empty()) std::this_thread::yield();
}

TEST_F(Links, OtherRanksHearWhyThisOneGivesUp) {
  Result<void> other = {};
  std::thread rank([&] {
    HostLinks links(options());
    other = links.join(hello_of(1, 2));
    if (other) other = links.ready({});
  });
  HostLinks links(options());
  const Result<void> joined = links.join(hello_of(0, 2));
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  links.give_up({Code::unavailable, "join: nothing comes back", -1, ""}, 0);
  rank.join();
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "join: rank 0: nothing comes back");
  EXPECT_EQ(other.error().rank, 0);
}

TEST_F(Links, JoiningEndsWhenItIsGivenUp) {
  std::stop_source stop;
  HostLinks::Options given_up = options();
  given_up.stop = stop.get_token();
  HostLinks links(given_up);
  std::thread stopper([&] {
    while (first_.registry.status().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  const Result<void> joined = links.join(hello_of(0, 2));
  stopper.join();
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().code, Code::cancelled);
}

TEST_F(Links, TheEndOfAJoinServerIsToldWithItsNumber) {
  HostLinks links(options());
  ASSERT_TRUE(links.join(hello_of(0, 1)).has_value());
  ASSERT_TRUE(links.ready({}).has_value());
  std::atomic<int> ended = -1;
  links.watch([&](std::size_t host, const join::JobEnd&) { ended = static_cast<int>(host); });
  second_.server.reset();
  while (ended < 0) std::this_thread::yield();
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace infold::rank
