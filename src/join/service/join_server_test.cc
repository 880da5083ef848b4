// SPDX-License-Identifier: Apache-2.0
//
// Strangers take no more of a server than they may, and ranks join beside them.
#include "join/service/join_server.h"

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <poll.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "io/host/clock.h"
#include "io/host/descriptors.h"
#include "io/host/file_descriptor.h"
#include "join/client/job_link.h"
#include "join/connection/other_end_testing.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

const io::SocketAddress kAnyPort = *io::SocketAddress::parse("127.0.0.1:0", "test");

struct Server {
  explicit Server(const ServerOptions& options = {})
      : server(std::move(*JoinServer::start(kAnyPort, registry, options))) {}
  std::string address() const { return server->address().text(); }

  FakePlane plane{1, 60'000};
  JobRegistry registry{&plane, {.on_event = [](const JoinEvent&) {}}};
  std::unique_ptr<JoinServer> server;
};

ServerOptions quiet() {
  ServerOptions options;
  options.on_event = [](const JoinEvent&) {};
  return options;
}

// Connects and says nothing, or these bytes.
OtherEnd stranger(const Server& server, const std::string& says = "",
                  const char* from = "127.0.0.1:0") {
  OtherEnd own(server.server->address(), from);
  if (own.is_open()) {
    EXPECT_TRUE(own.say_bytes(says));
  }
  return own;
}

// The beginning of a message.
const std::string kBeginning = {"\0\0\1\0\x0a", 5};

bool is_closed_within(const OtherEnd& one, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd readable = {one.descriptor(), POLLIN, 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[512];
    if (recv(one.descriptor(), bytes, sizeof(bytes), 0) <= 0) return true;
  }
}

std::size_t thread_count() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// All ranks of a job join, are ready and leave.
void run_job(const Server& server, std::size_t world, const std::string& job = "job") {
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      Hello own = hello_of(rank, world, job);
      const auto link = JobLink::join(server.address(), own, {});
      ASSERT_TRUE(link.has_value()) << link.error().message;
      const Answer<void> ready = (*link)->ready({});
      ASSERT_TRUE(ready.has_value()) << ready.error().message;
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

// A8: neither threads nor ranks wait for those that are idle.
TEST(JoinServer, RanksJoinBesideTwoThousandIdleConnections) {
  io::raise_descriptor_limit(16'384);
  Server server(quiet());
  run_job(server, 2);
  const std::size_t threads_before = thread_count();
  std::vector<OtherEnd> idle;
  for (int i = 0; i < 2'000; ++i) {
    idle.push_back(stranger(server, i % 2 == 0 ? kBeginning : ""));
    ASSERT_TRUE(idle.back().is_open()) << i;
  }
  const auto begun = std::chrono::steady_clock::now();
  run_job(server, 64);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_LE(thread_count(), threads_before + server.server->budget().threads);
  EXPECT_LT(took.count(), 20) << "2 s where nothing else runs";
}

TEST(JoinServer, WhatSaysNothingIsClosed) {
  ServerOptions options = quiet();
  options.times.silence_max = base::milliseconds(200);
  const Server server(options);
  const OtherEnd silent = stranger(server);
  OtherEnd starts = stranger(server, kBeginning);
  const OtherEnd stops = stranger(server, kBeginning.substr(0, 2));
  EXPECT_TRUE(is_closed_within(silent, std::chrono::seconds(20)));
  EXPECT_TRUE(is_closed_within(stops, std::chrono::seconds(20)));
  EXPECT_THAT(starts.hear().refused().message(), HasSubstr("has not said Hello in time"));
}

TEST(JoinServer, ConnectionsBeyondTheLimitAreClosedAndOthersServed) {
  ServerOptions options = quiet();
  options.limits.connections_max = 8;
  options.limits.connections_of_address_max = 6;
  options.times.silence_max = base::seconds(600);  // it is the limit that closes
  Server server(options);
  std::vector<OtherEnd> strangers;
  for (int i = 0; i < 6; ++i) strangers.push_back(stranger(server));
  EXPECT_THAT(stranger(server).hear().refused().message(),
              HasSubstr("6 ranks at 127.0.0.1 have joined here or want to, which is the limit"));
  strangers.clear();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool has_joined = false;  // as soon as the server has closed its ends
  while (!has_joined && std::chrono::steady_clock::now() < end) {
    has_joined = JobLink::join(server.address(), hello_of(0, 1), {}).has_value();
  }
  EXPECT_TRUE(has_joined);
}

// A process that may have few files serves fewer connections; one address still leaves a quarter.
TEST(JoinServer, NoAddressHoldsAllConnectionsWhereDescriptorsAreFew) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 168;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  ServerOptions options = quiet();
  options.times.silence_max = base::seconds(600);
  Server server(options);
  const std::uint32_t all = server.server->budget().connections;
  EXPECT_LE(all, 40U);
  std::vector<OtherEnd> held;
  for (std::uint32_t i = 0; i < all / 4 * 3; ++i) held.push_back(stranger(server));
  EXPECT_TRUE(is_closed_within(stranger(server), std::chrono::seconds(60)));
  const OtherEnd other = stranger(server, keepalive(), "127.0.0.2:0");
  pollfd answered = {other.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&answered, 1, 60'000), 1);
  char byte = 0;
  EXPECT_EQ(recv(other.descriptor(), &byte, 1, 0), 1) << "the answer to a keepalive";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(JoinServer, JoiningGoesOnAfterAShortageOfDescriptors) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  Server server(quiet());
  run_job(server, 2);
  std::vector<OtherEnd> held;
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (;;) {
    OtherEnd next = stranger(server, kBeginning);
    if (!next.is_open()) break;
    held.push_back(std::move(next));
  }
  // The one that frees a descriptor takes it for its own end of a connection, so that the server's
  // has none.
  for (int i = 0; i < 20; ++i) {
    held.pop_back();
    OtherEnd next = stranger(server, kBeginning);
    if (next.is_open()) held.push_back(std::move(next));
  }
  held.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  run_job(server, 4);
}

v1::JoinRequest hello(std::uint32_t rank, std::uint32_t world) {
  v1::JoinRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_protocol_version(kProtocolVersion);
  hello.set_job("job");
  hello.set_rank(rank);
  hello.set_world(world);
  hello.set_datagram_bytes_max(1472);
  hello.set_small_slots(64);
  hello.set_bulk_slots(448);
  hello.set_patience_ms(20'000);
  return request;
}

TEST(JoinServer, RefusesWhatIsSaidOutOfTurn) {
  struct {
    base::Mutex mutex;
    std::multiset<std::string> reasons GUARDED_BY(mutex);
  } said;
  ServerOptions options;
  options.on_event = [&](const JoinEvent& event) {
    const base::MutexLock lock(said.mutex);
    EXPECT_EQ(event.kind, JoinEvent::refused);
    EXPECT_EQ(event.address, "127.0.0.1");
    said.reasons.insert(event.reason);
  };
  Server server(options);
  v1::JoinRequest ready;
  ready.mutable_ready();
  OtherEnd early = stranger(server);
  early.say(ready);
  EXPECT_THAT(early.hear().refused().message(), HasSubstr("the first message is not a Hello"));
  OtherEnd twice = stranger(server);
  twice.say(hello(0, 2));
  twice.say(hello(0, 2));
  EXPECT_THAT(twice.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  OtherEnd nonsense = stranger(server);
  nonsense.say_bytes(std::string("\0\0\0\2\xff\xff", 6));
  EXPECT_THAT(nonsense.hear().refused().message(), HasSubstr("the first message is not a Hello"));
  OtherEnd teller = stranger(server);  // no terms ask for transfers here
  v1::JoinRequest told = hello(0, 2);
  told.mutable_hello()->set_job("another");
  teller.say(told);
  v1::JoinRequest transfer;
  transfer.mutable_transfer();
  teller.say(transfer);
  EXPECT_THAT(teller.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  OtherEnd heavy = stranger(server);
  v1::JoinRequest weight = hello(0, 2);
  weight.mutable_hello()->set_site_address("127.0.0.1:1");
  weight.mutable_hello()->set_site_weight(65);
  heavy.say(weight);
  EXPECT_EQ(heavy.hear().refused().reason(), v1::Refused::INVALID);
  {
    const base::MutexLock lock(said.mutex);
    EXPECT_EQ(said.reasons.size(), 5U);
    EXPECT_EQ(said.reasons.count("rank 0's site has weight 65; allowed: 0 to 64"), 1U);
  }
  OtherEnd loud = stranger(server);
  v1::JoinRequest large = hello(0, 2);
  large.mutable_hello()->set_job(std::string(1 << 20, 'x'));
  loud.say(large);
  EXPECT_THAT(loud.hear().refused().message(),
              HasSubstr("bytes was announced, but 4096 are allowed"));
  run_job(server, 2);
}

// Connections that are reset at once cost as much as those that stay, and are never too many at a
// time.
TEST(JoinServer, AnAddressThatOpensConnectionsWithoutEndIsTurnedAwayForAWhile) {
  ServerOptions options = quiet();
  options.limits.openings_at_once = 4;
  options.limits.openings_per_second = 1;
  Server server(options);
  bool is_refused = false;
  for (int i = 0; i < 16 && !is_refused; ++i) {
    OtherEnd one = stranger(server);
    if (i >= 4) is_refused = one.hear().has_refused();
  }
  EXPECT_TRUE(is_refused);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool has_joined = false;  // as soon as the time for those connections is over
  while (!has_joined && std::chrono::steady_clock::now() < end) {
    has_joined = JobLink::join(server.address(), hello_of(0, 1), {}).has_value();
    if (!has_joined) io::rest(base::milliseconds(20));
  }
  EXPECT_TRUE(has_joined);
}

// How long the rank waits for the answer to a keepalive.
std::chrono::duration<double> time_of_keepalive(const OtherEnd& end) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(end.say_bytes(keepalive()));
  std::string answer(kLengthBytes, 'x');
  EXPECT_EQ(recv(end.descriptor(), answer.data(), answer.size(), MSG_WAITALL), 4);
  EXPECT_EQ(answer, keepalive());
  return std::chrono::steady_clock::now() - begun;
}

// The flooder's messages are read at the rate of its address, and all others at once. The waits
// here would be 25 s if the server read in the order of arrival.
TEST(JoinServer, ARankIsAnsweredBesideOneThatSendsWithoutEnd) {
  ServerOptions options = quiet();
  options.limits.bytes_at_once_of_address = 64 << 10;
  options.limits.bytes_per_second_of_address = 8 << 10;
  std::atomic<int> limited = 0;
  options.on_event = [&](const JoinEvent& event) {
    limited += event.kind == JoinEvent::limited ? 1 : 0;
  };
  Server server(options);
  const OtherEnd flooder = stranger(server), beside = stranger(server);
  v1::JoinRequest other = hello(1, 3);
  ASSERT_TRUE(flooder.say(hello(0, 3)));
  ASSERT_TRUE(beside.say(other));
  const std::string keepalives(1 << 16, '\0');
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t taken = 0;
  while (limited == 0 && std::chrono::steady_clock::now() < end) {
    const ssize_t bytes = send(flooder.descriptor(), keepalives.data(), keepalives.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    taken += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  }
  EXPECT_GT(limited, 0) << taken;
  for (int i = 0; i < 10; ++i) EXPECT_LT(time_of_keepalive(beside).count(), 20);
  run_job(server, 2, "another");
}

TEST(JoinServer, AnOldRankHearsThatItIsOld) {
  Server server(quiet());
  const std::string preface =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  const OtherEnd old = stranger(server, preface);
  std::string settings(9, 'x');
  EXPECT_EQ(recv(old.descriptor(), settings.data(), settings.size(), MSG_WAITALL), 9);
  EXPECT_EQ(settings, std::string("\0\0\0\4\0\0\0\0\0", 9));
  EXPECT_TRUE(old.say_bytes(std::string("\0\0\1\1\4\0\0\0\1\x82", 10)));
  std::string answer(512, '\0');
  const ssize_t bytes = recv(old.descriptor(), answer.data(), answer.size(), MSG_WAITALL);
  ASSERT_GT(bytes, 0);
  EXPECT_THAT(answer, HasSubstr("grpc-message"));
  EXPECT_THAT(answer, HasSubstr("joins over gRPC, as earlier versions of infold did"));
}

// A6, from a connection's end to the entry.
TEST(JoinServer, AConnectionThatBreaksWhileRanksAreMissingFreesItsPlace) {
  Server server(quiet());
  {
    OtherEnd killed = stranger(server);
    killed.say(hello(0, 2));
    while (server.registry.status().empty()) std::this_thread::yield();
  }
  while (!server.registry.status().empty()) std::this_thread::yield();
  run_job(server, 2);
}

// A9: it has a connection, and takes nothing from it.
TEST(JoinServer, ARankThatIsLostIsHeardOfBesideOneThatDoesNotRead) {
  Server server(quiet());
  OtherEnd deaf = stranger(server), other = stranger(server);
  auto lost = std::make_unique<OtherEnd>(stranger(server));
  deaf.say(hello(0, 3));
  other.say(hello(1, 3));
  lost->say(hello(2, 3));
  EXPECT_TRUE(other.hear().has_joined());
  EXPECT_TRUE(lost->hear().has_joined());
  v1::JoinRequest ready;
  ready.mutable_ready();
  for (OtherEnd* const each : {&deaf, &other, lost.get()}) each->say(ready);
  EXPECT_TRUE(other.hear().has_go());
  lost.reset();
  const v1::JoinReply reply = other.hear();
  EXPECT_EQ(reply.ended().rank(), 2U);
  while (server.plane.ends().empty()) std::this_thread::yield();
}

TEST(JoinServer, StoppingTellsRanksAtOnceAndTakesNoLonger) {
  auto server = std::make_unique<Server>(quiet());
  OtherEnd rank = stranger(*server);
  rank.say(hello(0, 1));
  EXPECT_TRUE(rank.hear().has_joined());
  v1::JoinRequest ready;
  ready.mutable_ready();
  rank.say(ready);
  EXPECT_TRUE(rank.hear().has_go());
  const auto begun = std::chrono::steady_clock::now();
  std::thread stopper([&] { server.reset(); });
  EXPECT_EQ(rank.hear().ended().reason(), v1::Ended::STOPPING);
  stopper.join();  // though the rank never leaves
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST(JoinServer, SaysWhyItCannotListen) {
  Server server(quiet());
  JobRegistry registry(nullptr);
  const auto second = JoinServer::start(server.server->address(), registry);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().detail, HasSubstr("the address is in use"));
}

}  // namespace
}  // namespace infold::join::testing
