// SPDX-License-Identifier: Apache-2.0
//
// Ranks that join over loopback, as processes do, but in one process: a thread for each.

#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/communicator.h>

#include "runtime/environment.h"
#include "runtime/switch_server.h"

namespace infold {
namespace {

using testing::HasSubstr;

std::unique_ptr<runtime::SwitchServer> start_switch(const char* listen, unsigned threads = 1) {
  runtime::SwitchOptions options;
  options.listen = *io::SocketAddress::parse(listen, "test");
  options.threads = threads;
  auto server = runtime::SwitchServer::start(options);
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

JoinOptions options_of(int rank, int world) {
  JoinOptions options;
  options.job = "test";
  options.rank = rank;
  options.world = world;
  options.mtu_bytes = 1500;
  return options;
}

using Body = std::function<void(Communicator&)>;

void run_job(int world, const JoinOptions& common, const Body& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = common;
      options.rank = rank;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Sums of several sizes, types and kinds, checked on each rank.
void check_sums(Communicator& communicator) {
  const int world = communicator.world();
  for (const std::size_t elements : {1U, 352U, 5000U, 200'000U}) {
    std::vector<float> input(elements), output(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      input[i] = static_cast<float>(static_cast<int>(i % 100) - communicator.rank());
    }
    const auto done = communicator.all_reduce(input, output).wait();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(done->ranks_summed, world);
    const int ranks = world * (world - 1) / 2;
    for (std::size_t i = 0; i < elements; ++i) {
      ASSERT_EQ(output[i], static_cast<float>(static_cast<int>(i % 100) * world - ranks));
    }
  }
  std::vector<std::int32_t> tensor(3000, communicator.rank());
  ASSERT_TRUE(communicator.broadcast(tensor, world - 1).wait());
  EXPECT_EQ(tensor[2999], world - 1);
  ASSERT_TRUE(communicator.barrier().wait());
}

struct Place {
  const char* listen;
  unsigned threads;
};

class ThroughASwitch : public testing::TestWithParam<Place> {};

TEST_P(ThroughASwitch, SumsAreRight) {
  const auto server = start_switch(GetParam().listen, GetParam().threads);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->control_address().text()};
  run_job(3, options, check_sums);
  EXPECT_TRUE(server->jobs().empty()) << "all have left";
}

INSTANTIATE_TEST_SUITE_P(Places, ThroughASwitch,
                         testing::Values(Place{"127.0.0.1:0", 1}, Place{"[::1]:0", 1},
                                         Place{"127.0.0.1:0", 3}),
                         [](const auto& each) {
                           return std::string(each.param.listen[0] == '[' ? "V6" : "V4") + "By" +
                                  std::to_string(each.param.threads);
                         });

TEST(Join, SeveralSwitchesShareAJob) {
  const auto first = start_switch("127.0.0.1:0");
  const auto second = start_switch("127.0.0.1:0", 2);
  JoinOptions options = options_of(0, 3);
  options.switches = {first->control_address().text(), second->control_address().text()};
  run_job(3, options, check_sums);
}

// A free port, as far as anyone can tell.
std::string free_address() {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse("127.0.0.1:0", "test");
  return io::UdpSocket::open(udp)->local_address().text();
}

TEST(Join, WorkersSumForEachOther) {
  JoinOptions options = options_of(0, 4);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  run_job(4, options, check_sums);
}

TEST(Join, SwitchesAndWorkersMix) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::mixed;
  options.switches = {server->control_address().text()};
  options.switch_weight = 3;
  options.worker_weight = 2;
  run_job(3, options, check_sums);
}

TEST(Join, TwoJobsDoNotMeet) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 2);
  options.switches = {server->control_address().text()};
  JoinOptions other = options;
  other.job = "other";
  std::thread beside([&] { run_job(2, other, check_sums); });
  run_job(2, options, check_sums);
  beside.join();
}

TEST(Join, ASwitchThatStopsIsNamed) {
  auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 2);
  options.switches = {server->control_address().text()};
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

TEST(Join, MissingRanksAreNamed) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(1, 3);
  options.switches = {server->control_address().text()};
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
  const auto nobody = Communicator::join(options);
  ASSERT_FALSE(nobody.has_value());
  EXPECT_THAT(nobody.error().message, HasSubstr("nobody answers at 127.0.0.1:"));
}

TEST(Environment, TakesLaunchersNames) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "8", 1);
  setenv("MASTER_ADDR", "10.0.0.9", 1);
  setenv("MASTER_PORT", "29500", 1);
  const auto options = runtime::complete_from_environment({});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->world, 8);
  EXPECT_EQ(options->rendezvous, "10.0.0.9:29501");
  EXPECT_EQ(options->sites, Sites::workers);
  setenv("INFOLD_SWITCHES", "a:1,b:2", 1);
  setenv("INFOLD_RANK", "9", 1);
  const auto outside = runtime::complete_from_environment({});
  ASSERT_FALSE(outside.has_value());
  EXPECT_THAT(outside.error().message, HasSubstr("rank is 9 in a world of 8"));
  setenv("INFOLD_RANK", "x", 1);
  EXPECT_THAT(runtime::complete_from_environment({}).error().message,
              HasSubstr("INFOLD_RANK is 'x'; allowed: 0 to 255"));
  for (const char* name :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "INFOLD_SWITCHES", "INFOLD_RANK"}) {
    unsetenv(name);
  }
  EXPECT_THAT(runtime::complete_from_environment({}).error().message, HasSubstr("no rank"));
}

}  // namespace
}  // namespace infold
