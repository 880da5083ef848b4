// SPDX-License-Identifier: Apache-2.0
//
// Ranks that say drawn messages in any order, and end in any way, against a real server in this
// process. Every connection ends, no reply comes out of its turn, honest ranks join beside them,
// and nothing stays: no job, no slot, no connection that counts, no thread and no descriptor.
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "base/prng.h"
#include "join/client/job_link.h"
#include "join/connection/other_end_testing.h"
#include "join/registry/fuzzing.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/service/join_server.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join::testing {
namespace {

constexpr std::uint64_t kSeeds = 150;
// The most connections that one address may have: as many as an honest job's ranks, which can all
// join only if no connection counts that has ended.
constexpr std::uint32_t kConnectionsMax = 12;
// Only a hang takes as long.
constexpr std::chrono::seconds kHang{100};

struct Server {
  Server() {
    ServerOptions options;
    options.on_event = [](const JoinEvent&) {};
    options.limits.connections_of_address_max = kConnectionsMax;
    options.limits.hellos_at_once = options.limits.openings_at_once = 1'000'000;
    const auto any_port = *io::SocketAddress::parse("127.0.0.1:0", "test");
    RegistryOptions of_registry;
    of_registry.on_event = options.on_event;
    of_registry.limits.linger_max = base::milliseconds(20);  // time, and nothing else
    registry = std::make_unique<JobRegistry>(&plane, of_registry);
    server = std::move(*JoinServer::start(any_port, *registry, options));
  }

  fuzzing::CheckedPlane plane;
  std::unique_ptr<JobRegistry> registry;
  std::unique_ptr<JoinServer> server;
};

// Replies of each kind that drawn streams heard.
std::array<std::atomic<int>, 8> heard_of_kind = {};

// A connection with its reader, which checks the order of the answers.
class Connection {
 public:
  explicit Connection(const io::SocketAddress& server) : end_(server) {
    EXPECT_TRUE(end_.is_open());
    reader_ = std::thread([this] { read(); });
  }
  ~Connection() { reader_.join(); }

  void say(const v1::JoinRequest& request) const { end_.say(request); }
  void say_bytes(const std::string& bytes) const { end_.say_bytes(bytes); }
  // Waits for that many replies, or for the end.
  void wait_for(int replies) {
    base::MutexLock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(
        lock, kHang, [&]() REQUIRES(mutex_) { return heard_ >= replies || is_over_; }));
  }
  void close_half() const { end_.close_half(); }
  void cut() const { end_.cut(); }

 private:
  void read() {
    for (v1::JoinReply reply; end_.hear(reply);) {
      const base::MutexLock lock(mutex_);
      EXPECT_FALSE(was_refused_) << "a reply after the last one";
      was_refused_ = reply.has_refused();
      EXPECT_TRUE(was_refused_ || reply.has_joined() == (heard_ == 0)) << heard_;
      EXPECT_TRUE(was_refused_ || reply.has_go() == (heard_ == 1)) << heard_;
      EXPECT_TRUE(was_refused_ || reply.has_ended() == (heard_ == 2)) << heard_;
      EXPECT_LT(heard_, 4);
      ++heard_of_kind.at(static_cast<std::size_t>(reply.step_case()));
      ++heard_;
      changed_.notify_all();
    }
    const base::MutexLock lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

  OtherEnd end_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  int heard_ GUARDED_BY(mutex_) = 0;
  bool was_refused_ GUARDED_BY(mutex_) = false;
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread reader_;
};

// One rank's way, drawn before it begins: mostly in turn, so that jobs start.
class DrawnRank {
 public:
  DrawnRank(std::uint64_t seed, std::size_t index)
      : prng_(base::mix64(seed) + index), index_(index) {}

  void run(const Server& server) {
    Connection connection(server.server->address());
    if (prng_.chance(0.1)) return end(connection);
    if (prng_.chance(0.9)) say_hello(connection);
    if (prng_.chance(0.7)) {  // so far as it should be
      wait(connection);
      say_ready(connection);
      wait(connection);
    }
    for (auto steps = prng_.below(6); steps > 0; --steps) step(connection);
    end(connection);
  }

 private:
  void step(Connection& connection) {
    const double drawn = prng_.uniform();
    if (drawn < 0.35) {
      wait(connection);
    } else if (drawn < 0.7) {
      say_ready(connection);
    } else if (drawn < 0.8) {
      say_leave(connection);
    } else if (drawn < 0.85) {
      v1::JoinRequest request;
      request.mutable_lost();
      parts_ = true;
      connection.say(request);
    } else if (drawn < 0.87) {
      v1::JoinRequest request;
      request.mutable_transfer()->set_elements(prng_.next());
      request.mutable_transfer()->set_format(static_cast<std::uint32_t>(prng_.below(10)));
      if (prng_.chance(0.5)) request.mutable_transfer_size();
      parts_ = true;  // no terms ask for it
      connection.say(request);
    } else if (drawn < 0.9) {
      // A keepalive, an announcement alone, or one that is too long.
      constexpr std::array<std::uint32_t, 3> kLengths = {0, 100, 1'000'000};
      const std::uint32_t length = kLengths[prng_.below(kLengths.size())];
      parts_ = parts_ || length != 0;
      std::string bytes;
      for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(length >> shift));
      connection.say_bytes(bytes);
    } else {
      say_hello(connection);
    }
  }

  // Only for answers that must come: Joined within its patience after its Hello, then Go within it.
  void wait(Connection& connection) const {
    if (!parts_ && said_hello_) connection.wait_for(said_ready_ ? 2 : 1);
  }

  // Mostly of one of two small jobs, as its neighbours are.
  void say_hello(Connection& connection) {
    v1::JoinRequest request;
    *request.mutable_hello() = fuzzing::hello_from(drawn());
    v1::Hello& hello = *request.mutable_hello();
    if (prng_.chance(0.85)) {
      hello = v1::Hello();
      hello.set_protocol_version(kProtocolVersion);
      hello.set_job(index_ % 2 == 0 ? "a" : "b");
      hello.set_world(2);
      hello.set_rank(static_cast<std::uint32_t>(index_ / 2 % 2));
      hello.set_datagram_bytes_max(1472);
      hello.set_small_slots(8);
      hello.set_bulk_slots(8);
    }
    constexpr std::array<std::uint32_t, 4> kPatience_ms = {1, 10, 20, 40};
    hello.set_patience_ms(kPatience_ms[prng_.below(kPatience_ms.size())]);
    said_hello_ = true;
    connection.say(request);
  }

  void say_ready(Connection& connection) {
    v1::JoinRequest request;
    *request.mutable_ready() = prng_.chance(0.7) ? v1::Ready() : fuzzing::ready_from(drawn());
    said_ready_ = true;
    connection.say(request);
  }

  void say_leave(Connection& connection) {
    v1::JoinRequest request;
    *request.mutable_leave() = prng_.chance(0.7) ? v1::Leave() : fuzzing::leave_from(drawn());
    parts_ = true;
    connection.say(request);
  }

  void end(Connection& connection) {
    const double drawn = prng_.uniform();
    if (drawn < 0.4) {
      connection.close_half();
    } else if (drawn < 0.6) {
      say_leave(connection);
      connection.close_half();
    } else {
      connection.cut();
    }
  }

  fuzzing::Choices& drawn() {
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(prng_.next());
    choices_ = fuzzing::Choices(bytes_);
    return choices_;
  }

  base::Prng prng_;
  std::size_t index_;
  bool said_hello_ = false, said_ready_ = false, parts_ = false;
  std::array<std::uint8_t, 64> bytes_{};
  fuzzing::Choices choices_{bytes_};
};

void run_ranks(const Server& server, std::uint64_t seed) {
  base::Prng prng(seed);
  std::vector<std::thread> ranks;
  const std::size_t count = 1 + prng.below(8);
  for (std::size_t index = 0; index < count; ++index) {
    ranks.emplace_back([seed, index, &server] { DrawnRank(seed, index).run(server); });
  }
  for (std::thread& rank : ranks) rank.join();
}

std::size_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

template <typename Done>
void wait_until(const char* what, Done done) {
  const auto end = std::chrono::steady_clock::now() + kHang;
  while (!done()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << what;
    std::this_thread::yield();
  }
}

// A connection is given back a moment after its rank has seen its end: the first try may be
// refused.
bool join_honestly(const Server& server, std::uint32_t world) {
  std::vector<std::thread> ranks;
  std::atomic<std::uint32_t> done = 0;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      Hello own = hello_of(rank, world, "honest");
      own.small_slots = own.bulk_slots = 8;
      own.patience = std::chrono::seconds(2);  // then it tries again
      const auto link = JobLink::join(server.server->address().text(), own, {});
      if (link && (*link)->ready({})) ++done;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return done == world;
}

TEST(DrawnRanks, LeaveNothingAndDisturbNoOtherRank) {
  Server server;
  ASSERT_TRUE(join_honestly(server, 2));
  wait_until("the first job stays", [&] { return server.registry->status().empty(); });
  const std::size_t threads_before = entries_of("/proc/self/task");
  const std::size_t files_before = entries_of("/proc/self/fd");
  for (std::uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_ranks(server, seed);
    wait_until("a job stays", [&] { return server.registry->status().empty(); });
    EXPECT_EQ(server.registry->slots_free(), server.plane.slots_total());
    if (seed % 10 == 0) wait_until("none joins", [&] { return join_honestly(server, 2); });
  }
  wait_until("a connection counts that has ended",
             [&] { return join_honestly(server, kConnectionsMax); });
  RecordProperty("joined", heard_of_kind.at(v1::JoinReply::kJoined));
  RecordProperty("go", heard_of_kind.at(v1::JoinReply::kGo));
  RecordProperty("ended", heard_of_kind.at(v1::JoinReply::kEnded));
  RecordProperty("refused", heard_of_kind.at(v1::JoinReply::kRefused));
  EXPECT_LE(entries_of("/proc/self/task"), threads_before + server.server->budget().threads);
  wait_until("a connection stays", [&] { return entries_of("/proc/self/fd") <= files_before; });
  server.server.reset();
  server.registry.reset();
  EXPECT_TRUE(server.plane.living.empty());
}

}  // namespace
}  // namespace infold::join::testing
