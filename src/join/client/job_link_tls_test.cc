// SPDX-License-Identifier: Apache-2.0
//
// Ranks that join with keys, at servers with and without them.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/client/job_answers_testing.h"
#include "join/client/job_link.h"
#include "join/connection/tls_testing.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;
using Joined = Answer<std::unique_ptr<JobLink>>;

struct Server {
  explicit Server(bool uses_keys) {
    ServerOptions options;
    if (uses_keys) options.identity = own_identity();
    options.on_event = [this](const JoinEvent& event) {
      const base::MutexLock lock(mutex);
      events.push_back(event.reason);
    };
    server = std::move(
        *JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry, options));
  }
  std::string address() const { return server->address().text(); }
  // Waits until an event has this text.
  void expect_event(const std::string& text) {
    base::MutexLock lock(mutex);
    const auto has_it = [&]() REQUIRES(mutex) {
      for (const std::string& event : events) {
        if (event.find(text) != std::string::npos) return true;
      }
      return false;
    };
    while (!has_it()) changed.wait_for(lock, std::chrono::milliseconds(10), has_it);
  }

  FakePlane plane{1, 60'000};
  JobRegistry registry{&plane, {.on_event = [](const JoinEvent&) {}}};
  base::Mutex mutex;
  base::ConditionVariable changed;
  std::vector<std::string> events GUARDED_BY(mutex);
  std::unique_ptr<JoinServer> server;
};

JobLink::Limits with(const keys::Identity& identity) {
  JobLink::Limits limits;
  limits.fingerprint = identity.fingerprint();
  return limits;
}

TEST(JobLinkTls, AJobRunsFromItsHelloToItsEnd) {
  Server server(true);
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      const Joined link = JobLink::join(server.address(), hello_of(rank, 4), with(own_identity()));
      ASSERT_TRUE(link.has_value()) << link.error().message;
      const Answer<void> ready = (*link)->ready({});
      ASSERT_TRUE(ready.has_value()) << ready.error().message;
      (*link)->leave();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  while (!server.registry.status().empty()) std::this_thread::yield();
  EXPECT_EQ(server.plane.started().size(), 1U);
}

TEST(JobLinkTls, ARankThatIsLostEndsTheJob) {
  Server server(true);
  base::Mutex mutex;
  base::ConditionVariable changed;
  std::optional<JobEnd> end;
  std::unique_ptr<JobLink> links[2];
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      Joined link = JobLink::join(server.address(), hello_of(rank, 2), with(own_identity()));
      ASSERT_TRUE(link.has_value() && (*link)->ready({}).has_value());
      links[rank] = std::move(*link);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  ASSERT_TRUE(links[0] && links[1]);
  links[0]->watch([&](const JobEnd& told) {
    const base::MutexLock lock(mutex);
    end = told;
    changed.notify_all();
  });
  links[1]->cut();
  base::MutexLock lock(mutex);
  while (!end) changed.wait(lock);
  EXPECT_EQ(end->lost_rank, 1U);
}

// Nobody may take the place of a switch whose certificate a rank knows.
TEST(JobLinkTls, AnotherCertificateIsRefusedWithBothFingerprints) {
  Server server(true);
  const Joined joined = JobLink::join(server.address(), hello_of(0, 1), with(other_identity()));
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::invalid);
  for (const std::string& word :
       {server.address(), own_identity().fingerprint().text(),
        other_identity().fingerprint().text(), std::string("take the new string")}) {
    EXPECT_THAT(joined.error().message, HasSubstr(word));
  }
  server.expect_event("does not accept this end's certificate");
  EXPECT_TRUE(server.registry.status().empty());
}

TEST(JobLinkTls, ASwitchWithoutKeysIsNamed) {
  Server server(false);
  const Joined joined = JobLink::join(server.address(), hello_of(0, 1), with(own_identity()));
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::invalid);
  EXPECT_THAT(joined.error().message, HasSubstr("the switch at " + server.address() +
                                                " does not use keys; it was started with "
                                                "--insecure"));
  server.expect_event("joins with keys, and this switch uses none");
}

TEST(JobLinkTls, AnEarlierVersionIsTakenForASwitchWithoutKeys) {
  const ScriptedHost host([](OtherEnd& rank) {
    rank.say_bytes(std::string("\0\0\0\2\x12\0", 6));
    rank.drain();
  });
  const Joined joined = JobLink::join(host.address(), hello_of(0, 1), with(own_identity()));
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("does not use keys"));
}

TEST(JobLinkTls, ARankWithoutKeysHearsThatTheSwitchUsesThem) {
  Server server(true);
  const Joined joined = JobLink::join(server.address(), hello_of(0, 1), {});
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::invalid);
  EXPECT_THAT(joined.error().message, HasSubstr("this switch uses keys"));
  server.expect_event("this switch uses keys");
}

TEST(JobLinkTls, AHostThatNeverEndsItsHandshakeIsGivenUpInTime) {
  const ScriptedHost host([](OtherEnd& rank) {
    rank.say_bytes(std::string("\x16\3\3\0\x50", 5));
    rank.drain();
  });
  Hello own = hello_of(0, 1);
  own.patience = std::chrono::milliseconds(300);
  const Joined joined = JobLink::join(host.address(), own, with(own_identity()));
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::too_late);
  EXPECT_THAT(joined.error().message, HasSubstr("no answer from " + host.address()));
}

TEST(JobLinkTls, AHostThatBreaksOffItsHandshakeIsNamed) {
  const ScriptedHost host([](OtherEnd& rank) { rank.say_bytes(std::string("\x16\3\3", 3)); });
  const Joined joined = JobLink::join(host.address(), hello_of(0, 1), with(own_identity()));
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("broke while joining"));
}

}  // namespace
}  // namespace infold::join::testing
