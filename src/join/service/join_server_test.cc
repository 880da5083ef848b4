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
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "io/host/clock.h"
#include "io/host/descriptors.h"
#include "io/host/file_descriptor.h"
#include "join/client/job_link.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "proto/infold/v1/control.grpc.pb.h"

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

// Connects and says nothing, or as much of HTTP/2 as makes gRPC's work begin.
io::FileDescriptor stranger(const Server& server, const std::string& says = "",
                            const char* from = "127.0.0.1:0") {
  io::FileDescriptor own(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const io::SocketAddress here = *io::SocketAddress::parse(from, "test");
  if (bind(own.get(), here.data(), here.bytes()) != 0) return io::FileDescriptor();
  const io::SocketAddress there = server.server->address();
  if (connect(own.get(), there.data(), there.bytes()) != 0) return io::FileDescriptor();
  EXPECT_EQ(send(own.get(), says.data(), says.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(says.size()));
  return own;
}

const std::string kHttp2 = {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33};

bool is_closed_within(const io::FileDescriptor& socket, std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd readable = {socket.get(), POLLIN, 0};
    if (left.count() <= 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[512];
    if (recv(socket.get(), bytes, sizeof(bytes), 0) <= 0) return true;
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
  std::vector<io::FileDescriptor> idle;
  for (int i = 0; i < 2'000; ++i) {
    idle.push_back(stranger(server, i % 2 == 0 ? kHttp2 : ""));
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
  options.silence_max = base::milliseconds(200);
  const Server server(options);
  const io::FileDescriptor silent = stranger(server);
  const io::FileDescriptor starts = stranger(server, kHttp2);
  const io::FileDescriptor stops = stranger(server, kHttp2.substr(0, 10));
  EXPECT_TRUE(is_closed_within(silent, std::chrono::seconds(20)));
  EXPECT_TRUE(is_closed_within(stops, std::chrono::seconds(20)));
  EXPECT_TRUE(is_closed_within(starts, std::chrono::seconds(20)));
}

TEST(JoinServer, ConnectionsBeyondTheLimitAreClosedAndOthersServed) {
  ServerOptions options = quiet();
  options.connections_max = 8;
  options.connections_of_address_max = 6;
  options.silence_max = base::seconds(600);  // it is the limit that closes
  Server server(options);
  std::vector<io::FileDescriptor> strangers;
  for (int i = 0; i < 6; ++i) strangers.push_back(stranger(server, kHttp2));
  EXPECT_TRUE(is_closed_within(stranger(server), std::chrono::seconds(20)));
  strangers.clear();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool has_joined = false;  // as soon as gRPC has closed its ends
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
  options.silence_max = base::seconds(600);
  Server server(options);
  const std::uint32_t all = server.server->budget().connections;
  EXPECT_LE(all, 40U);
  std::vector<io::FileDescriptor> held;
  for (std::uint32_t i = 0; i < all / 4 * 3; ++i) held.push_back(stranger(server));
  EXPECT_TRUE(is_closed_within(stranger(server), std::chrono::seconds(60)));
  const io::FileDescriptor other = stranger(server, kHttp2, "127.0.0.2:0");
  pollfd answered = {other.get(), POLLIN, 0};
  EXPECT_EQ(poll(&answered, 1, 60'000), 1);
  char byte = 0;
  EXPECT_EQ(recv(other.get(), &byte, 1, 0), 1) << "HTTP/2's settings";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A5: gRPC's own listener stays silent after this.
TEST(JoinServer, JoiningGoesOnAfterAShortageOfDescriptors) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  Server server(quiet());
  run_job(server, 2);
  std::vector<io::FileDescriptor> held;
  rlimit low = before;
  low.rlim_cur = 200;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  for (;;) {
    io::FileDescriptor next = stranger(server, kHttp2);
    if (!next.is_open()) break;
    held.push_back(std::move(next));
  }
  // The one that frees a descriptor takes it for its own end of a connection, so that the server's
  // has none.
  for (int i = 0; i < 20; ++i) {
    held.pop_back();
    io::FileDescriptor next = stranger(server, kHttp2);
    if (next.is_open()) held.push_back(std::move(next));
  }
  held.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  run_job(server, 4);
}

// A stream by hand.
class Stream {
 public:
  explicit Stream(const Server& server)
      : stub_(v1::Control::NewStub(
            grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()))),
        stream_(stub_->Join(&context_)) {}
  ~Stream() {
    context_.TryCancel();
    stream_->Finish();
  }
  bool say(const v1::JoinRequest& request) { return stream_->Write(request); }
  v1::JoinReply hear() {
    v1::JoinReply reply;
    stream_->Read(&reply);
    return reply;
  }
  void cut() { context_.TryCancel(); }

 private:
  std::unique_ptr<v1::Control::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::JoinRequest, v1::JoinReply>> stream_;
};

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
  Stream early(server);
  early.say(ready);
  EXPECT_THAT(early.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  Stream twice(server);
  twice.say(hello(0, 2));
  twice.say(hello(0, 2));
  EXPECT_THAT(twice.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  Stream empty(server);
  empty.say({});
  EXPECT_THAT(empty.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  Stream teller(server);  // no terms ask for transfers here
  v1::JoinRequest told = hello(0, 2);
  told.mutable_hello()->set_job("another");
  teller.say(told);
  v1::JoinRequest transfer;
  transfer.mutable_transfer();
  teller.say(transfer);
  EXPECT_THAT(teller.hear().refused().message(), HasSubstr("does not follow the order of joining"));
  Stream heavy(server);
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
  Stream loud(server);
  v1::JoinRequest large = hello(0, 2);
  large.mutable_hello()->set_job(std::string(1 << 20, 'x'));
  loud.say(large);
  EXPECT_FALSE(loud.hear().has_joined());
  run_job(server, 2);
}

TEST(JoinServer, AStreamWithoutAHelloEnds) {
  ServerOptions options = quiet();
  options.silence_max = base::milliseconds(200);
  Server server(options);
  Stream silent(server);
  EXPECT_THAT(silent.hear().refused().message(), HasSubstr("without a Hello"));
}

TEST(JoinServer, AddressesThatHaveEnoughHearOfTheLimit) {
  ServerOptions options = quiet();
  options.streams.streams_of_address_max = 2;
  Server server(options);
  Stream first(server), second(server);
  first.say(hello(0, 3));
  second.say(hello(1, 3));
  while (server.registry.status().empty() || server.registry.status()[0].ranks < 2) {
    std::this_thread::yield();
  }
  Stream third(server);
  EXPECT_THAT(third.hear().refused().message(), HasSubstr("which is the limit for one address"));
}

// Streams that are reset at once cost as much as those that stay, and are never too many at a time.
TEST(JoinServer, AnAddressThatOpensStreamsWithoutEndLosesItsConnectionForAWhile) {
  ServerOptions options = quiet();
  options.streams.openings_at_once = 4;
  options.streams.openings_per_second = 1;
  std::atomic<int> refused = 0;
  options.on_event = [&](const JoinEvent& event) {
    refused += event.kind == JoinEvent::limited ? 1 : 0;
  };
  Server server(options);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  // At once, because the time for one stream too many is soon over. gRPC may rest before it
  // connects again.
  std::future<bool> is_turned_away = std::async(std::launch::async, [&] {
    while (refused == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return is_closed_within(stranger(server), std::chrono::seconds(5));
  });
  std::vector<std::unique_ptr<Stream>> streams;  // gRPC lets them share a connection
  for (int i = 0; i < 16; ++i) streams.push_back(std::make_unique<Stream>(server));
  EXPECT_TRUE(is_turned_away.get());
  std::size_t cut_off = 0;
  for (const auto& stream : streams) cut_off += stream->hear().has_refused() ? 0 : 1;
  EXPECT_GT(cut_off, 0U) << "streams that were refused nothing end with the others";
  streams.clear();
  end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool has_joined = false;  // as soon as the time for those streams is over
  while (!has_joined && std::chrono::steady_clock::now() < end) {
    has_joined = JobLink::join(server.address(), hello_of(0, 1), {}).has_value();
    if (!has_joined) io::rest(base::milliseconds(20));
  }
  EXPECT_TRUE(has_joined);
}

// gRPC reads frames that mean nothing for as long as they come. The flooder owes for longer than
// this lasts.
TEST(JoinServer, AnAddressThatSendsWithoutEndLosesItsConnectionForAWhile) {
  ServerOptions options = quiet();
  options.bytes_at_once_of_address = 4 << 20;
  options.bytes_per_second_of_address = 8 << 10;
  struct {
    base::Mutex mutex;
    std::vector<std::string> reasons GUARDED_BY(mutex);
  } said;
  options.on_event = [&](const JoinEvent& event) {
    const base::MutexLock lock(said.mutex);
    said.reasons.push_back(event.reason);
  };
  Server server(options);
  const char* const kFlooder = "127.0.0.3:0";
  const io::FileDescriptor beside = stranger(server, kHttp2, kFlooder);
  const io::FileDescriptor flood = stranger(server, kHttp2, kFlooder);
  // Frames of an unknown kind are to be passed over (RFC 9113, 4.1).
  const std::string frame = std::string("\0\x40\0\x77\0\0\0\0\0", 9) + std::string(1 << 14, 'x');
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  bool is_closed = false;
  while (!is_closed && std::chrono::steady_clock::now() < end) {
    is_closed = send(flood.get(), frame.data(), frame.size(), MSG_NOSIGNAL) < 0;
  }
  EXPECT_TRUE(is_closed);
  EXPECT_TRUE(is_closed_within(stranger(server, kHttp2, kFlooder), std::chrono::seconds(5)));
  // One that sends little, at the same address and while that owes, keeps its connection.
  const std::string more_window = std::string("\0\0\4\x8\0\0\0\0\0\0\0\0\1", 13);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(send(beside.get(), more_window.data(), more_window.size(), MSG_NOSIGNAL), 13);
    EXPECT_FALSE(is_closed_within(beside, std::chrono::milliseconds(100)));
  }
  run_job(server, 2);
  const base::MutexLock lock(said.mutex);
  EXPECT_THAT(said.reasons, ::testing::Contains("more than 8 KiB a second come from the address"));
}

// A6, from a connection's end to the entry.
TEST(JoinServer, AConnectionThatBreaksWhileRanksAreMissingFreesItsPlace) {
  Server server(quiet());
  {
    Stream killed(server);
    killed.say(hello(0, 2));
    while (server.registry.status().empty()) std::this_thread::yield();
  }
  while (!server.registry.status().empty()) std::this_thread::yield();
  run_job(server, 2);
}

// A9: it has a connection, and takes nothing from it.
TEST(JoinServer, ARankThatIsLostIsHeardOfBesideOneThatDoesNotRead) {
  Server server(quiet());
  Stream deaf(server), other(server);
  auto lost = std::make_unique<Stream>(server);
  deaf.say(hello(0, 3));
  other.say(hello(1, 3));
  lost->say(hello(2, 3));
  EXPECT_TRUE(other.hear().has_joined());
  EXPECT_TRUE(lost->hear().has_joined());
  v1::JoinRequest ready;
  ready.mutable_ready();
  for (Stream* const each : {&deaf, &other, lost.get()}) each->say(ready);
  EXPECT_TRUE(other.hear().has_go());
  lost.reset();
  const v1::JoinReply reply = other.hear();
  EXPECT_EQ(reply.ended().rank(), 2U);
  while (server.plane.ends().empty()) std::this_thread::yield();
}

TEST(JoinServer, StoppingTellsRanksAtOnceAndTakesNoLonger) {
  auto server = std::make_unique<Server>(quiet());
  Stream rank(*server);
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
