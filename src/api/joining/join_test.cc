// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks that join over loopback as processes do, but as threads of one process.

#include "api/joining/join.h"

#include <atomic>
#include <cstdlib>
#include <future>
#include <latch>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/communicator.h>

#include "api/environment.h"
#include "api/joining/join_testing.h"
#include "io/lossy_endpoint.h"
#include "join/registry/job_registry.h"

namespace infold::testing {
namespace {

using ::testing::HasSubstr;

struct Place {
  const char* listen;
  unsigned threads;
};

class ThroughASwitch : public ::testing::TestWithParam<Place> {};

TEST_P(ThroughASwitch, SumsAreRight) {
  const auto server = start_switch(GetParam().listen, GetParam().threads);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  run_job(3, options, check_sums);
  EXPECT_TRUE(server->jobs().empty()) << "all have left";
}

INSTANTIATE_TEST_SUITE_P(Places, ThroughASwitch,
                         ::testing::Values(Place{"127.0.0.1:0", 1}, Place{"[::1]:0", 1},
                                           Place{"127.0.0.1:0", 3}),
                         [](const auto& each) {
                           return std::string(each.param.listen[0] == '[' ? "V6" : "V4") + "By" +
                                  std::to_string(each.param.threads);
                         });

TEST(Join, ARankMayAskThatResultsAreCompared) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  options.verify = true;
  run_job(3, options, [](Communicator& communicator) {
    check_sums(communicator);
    // Comparing results takes packets, but does not count as calls of the program.
    EXPECT_EQ(communicator.statistics().calls, 7U);
  });
}

TEST(Join, ARankThatVerifiesAloneIsNamed) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([options, rank]() mutable {
      options.rank = rank;
      options.verify = rank == 1;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_FALSE(communicator.has_value());
      EXPECT_EQ(communicator.error().code, Code::mismatch);
      EXPECT_EQ(communicator.error().rank, 1);
      EXPECT_THAT(communicator.error().message,
                  HasSubstr("rank 1 verifies results, rank 0 does not; set JoinOptions.verify"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Join, TheVariableMakesAllRanksCompare) {
  JoinOptions options = options_of(0, 1);
  options.rendezvous = "127.0.0.1:1";
  EXPECT_FALSE(api::complete_from_environment(options)->verify);
  setenv("INFOLD_VERIFY", "1", 1);
  EXPECT_TRUE(api::complete_from_environment(options)->verify);
  setenv("INFOLD_VERIFY", "0", 1);
  EXPECT_FALSE(api::complete_from_environment(options)->verify);
  setenv("INFOLD_VERIFY", "yes", 1);
  EXPECT_THAT(api::complete_from_environment(options).error().message,
              HasSubstr("INFOLD_VERIFY is 'yes'; allowed: 0 and 1"));
  unsetenv("INFOLD_VERIFY");
}

TEST(Join, SeveralSwitchesShareAJob) {
  const auto first = start_switch("127.0.0.1:0");
  const auto second = start_switch("127.0.0.1:0", 2);
  JoinOptions options = options_of(0, 3);
  options.switches = {first->join_address().text(), second->join_address().text()};
  run_job(3, options, check_sums);
}

TEST(Join, WorkersSumForEachOther) {
  JoinOptions options = options_of(0, 4);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  run_job(4, options, check_sums);
}

TEST(Join, RankZeroSaysWhereItWaits) {
  JoinOptions options = options_of(0, 2);
  options.sites = Sites::workers;
  options.rendezvous = "127.0.0.1:0";
  std::promise<std::string> address;
  options.on_rendezvous = [&address](const std::string& text) { address.set_value(text); };
  std::thread first([&options] {
    Result<Communicator> communicator = Communicator::join(options);
    ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
    check_sums(*communicator);
  });
  JoinOptions other = options_of(1, 2);
  other.sites = Sites::workers;
  other.rendezvous = address.get_future().get();
  Result<Communicator> communicator = Communicator::join(other);
  EXPECT_TRUE(communicator.has_value()) << communicator.error().message;
  if (communicator) check_sums(*communicator);
  first.join();
}

TEST(Join, IsGivenUpByWhoeverStopsIt) {
  const auto server = start_switch("127.0.0.1:0");
  for (const std::string& address : {server->join_address().text(), free_address()}) {
    JoinOptions options = options_of(0, 2);
    options.switches = {address};
    std::stop_source stop;
    options.stop = stop.get_token();
    std::thread stopper([&] {
      while (address == server->join_address().text() && server->jobs().empty()) {
        std::this_thread::yield();
      }
      stop.request_stop();
    });
    const auto joined = Communicator::join(options);
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().code, Code::cancelled);
    EXPECT_THAT(joined.error().message, HasSubstr("joining at " + address + " was given up"));
    stopper.join();
  }
}

// The leaving rank sums for the others, which cannot continue without it.
TEST(Join, ARankThatLeavesEarlyIsNamedToThoseThatStay) {
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  options.deadline = std::chrono::seconds(60);
  run_job(3, options, [](Communicator& communicator) {
    if (communicator.rank() == 1) return;
    const auto done = communicator.barrier().wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().rank, 1) << done.error().message;
    EXPECT_NE(done.error().code, Code::deadline_exceeded) << done.error().message;
  });
}

// No packet reaches the last rank, which calls after the others have failed and left.
void hear_the_reason_late(const JoinOptions& common, const Hosts& hosts = {}) {
  std::latch have_left(2);
  const auto fail_as = [&](int rank) {
    JoinOptions options = common;
    options.rank = rank;
    options.shared_memory = hosts.empty() ? SharedMemory::off : SharedMemory::always;
    if (!hosts.empty()) options.host = hosts[static_cast<std::size_t>(rank)];
    const auto member = api::join_through(options, [rank](std::unique_ptr<io::Endpoint> endpoint) {
      io::LossyOptions lossy;
      lossy.loss_of_received = rank == 2 ? 1 : 0;
      return std::make_unique<io::LossyEndpoint>(std::move(endpoint), lossy);
    });
    ASSERT_TRUE(member.has_value()) << member.error().message;
    Communicator communicator(*member);
    if (rank == 2) have_left.wait();
    std::vector<float> tensor(rank == 1 ? 100 : 200);
    const auto done = communicator.all_reduce(tensor).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::mismatch) << done.error().message;
    EXPECT_STREQ(done.error().field, "size");
    EXPECT_THAT(done.error().message, HasSubstr("rank 1 passed 100 elements"));
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      fail_as(rank);
      if (rank != 2) have_left.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Join, ARankThatComesWhenOthersHaveFailedHearsWhy) {
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  hear_the_reason_late(options);
  options.rendezvous = free_address();
  hear_the_reason_late(options, {"one", "one", "one"});
  const auto server = start_switch("127.0.0.1:0");
  options.sites = Sites::switches;
  options.switches = {server->join_address().text()};
  hear_the_reason_late(options);
}

TEST(Join, SwitchesAndWorkersMix) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::mixed;
  options.switches = {server->join_address().text()};
  options.switch_weight = 3;
  options.worker_weight = 2;
  run_job(3, options, check_sums);
}

TEST(Join, TwoJobsDoNotMeet) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  JoinOptions other = options;
  other.job = "other";
  std::thread beside([&] { run_job(2, other, check_sums); });
  run_job(2, options, check_sums);
  beside.join();
}

TEST(Join, ASwitchThatStopsIsNamed) {
  auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  options.deadline = std::chrono::seconds(10);  // how long ranks wait for it to come back
  std::atomic<int> joined{0};
  std::thread stopper([&] {
    while (joined < 2) std::this_thread::yield();
    server.reset();
  });
  run_job(2, options, [&](Communicator& communicator) {
    ++joined;
    std::vector<float> tensor(100);
    Result<Completion> done = Completion{};
    while (done) done = communicator.all_reduce(tensor).wait();
    EXPECT_EQ(done.error().code, Code::unavailable);
    EXPECT_THAT(done.error().message, HasSubstr("has stopped or cannot be reached"));
  });
  stopper.join();
}

TEST(Join, RanksWithOtherSitesAreNamed) {
  const auto first = start_switch("127.0.0.1:0");
  const auto second = start_switch("127.0.0.1:0");
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, 2);
      options.switches = {first->join_address().text(), second->join_address().text()};
      if (rank == 1) std::swap(options.switches[0], options.switches[1]);
      options.shared_memory = SharedMemory::off;
      options.deadline = std::chrono::seconds(5);
      const auto joined = Communicator::join(options);
      ASSERT_FALSE(joined.has_value());
      EXPECT_EQ(joined.error().code, Code::mismatch) << joined.error().message;
      EXPECT_THAT(joined.error().message, HasSubstr("rank 1 has other sites than rank 0"));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

// Ranks can join, but packets do not pass, as behind a firewall that drops UDP.
class DeafPlane final : public join::Plane {
 public:
  std::vector<join::SiteAddress> sites() const override { return {{address_, 0}}; }
  std::uint32_t slots_total() const override { return 4096; }
  std::uint32_t datagram_bytes_max() const override { return 8972; }
  join::Answer<void> start_job(const join::JobTerms&) override { return {}; }
  std::optional<core::Abort> end_job(std::uint16_t, const core::Abort&) override { return {}; }
  void forget_job(std::uint16_t) override {}

  const std::string& address() const { return address_; }

 private:
  std::string address_ = free_address();
};

TEST(Join, ASiteThatNoPacketReachesIsNamed) {
  DeafPlane plane;
  join::JobRegistry registry(&plane);
  const auto server =
      join::JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry);
  ASSERT_TRUE(server.has_value());
  JoinOptions options = options_of(0, 1);
  options.switches = {(*server)->address().text()};
  options.deadline = std::chrono::milliseconds(400);
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().code, Code::unavailable);
  EXPECT_THAT(joined.error().message,
              HasSubstr("nothing comes back over UDP from " + plane.address()));
}

// One switch refuses while the other waits for all ranks. No rank may wait until its patience is
// over.
TEST(Join, OneSwitchThatRefusesEndsTheWaitAtTheOther) {
  const auto waits = start_switch("127.0.0.1:0");
  const auto refuses = start_switch("127.0.0.1:0");
  JoinOptions alone = options_of(0, 1);
  alone.switches = {refuses->join_address().text()};
  const auto running = Communicator::join(alone);
  ASSERT_TRUE(running.has_value()) << running.error().message;
  JoinOptions options = options_of(0, 2);
  options.switches = {waits->join_address().text(), refuses->join_address().text()};
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("a job named 'test' is running"));
}

TEST(Join, MissingRanksAreNamed) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(1, 3);
  options.switches = {server->join_address().text()};
  options.deadline = std::chrono::milliseconds(300);
  const auto alone = Communicator::join(options);
  ASSERT_FALSE(alone.has_value());
  EXPECT_EQ(alone.error().code, Code::deadline_exceeded);
  EXPECT_THAT(alone.error().message, HasSubstr("1 of 3 ranks came; missing: rank 0, 2"));
  EXPECT_EQ(alone.error().rank, 0);
}

TEST(Join, ASwitchThatIsNotThereIsNamed) {
  JoinOptions options = options_of(0, 1);
  options.switches = {free_address()};
  options.deadline = std::chrono::milliseconds(300);
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("no answer from 127.0.0.1:"));
  options.deadline = std::chrono::hours(1);
  options.connect_deadline = std::chrono::milliseconds(200);
  EXPECT_THAT(Communicator::join(options).error().message, HasSubstr("for 0.2 s: is `infold"));
}

}  // namespace
}  // namespace infold::testing
