// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks with several drivers, each for some of the sites.
#include <atomic>
#include <chrono>
#include <latch>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"

namespace infold {
namespace {

using std::chrono::milliseconds;
using testing::bits_of_sums;
using testing::check_sums;
using ::testing::ContainsRegex;
using testing::free_address;
using ::testing::HasSubstr;
using testing::options_of;
using testing::start_switch;

using Drivers = std::vector<int>;  // one number for each rank

void run_job(const Drivers& drivers, const JoinOptions& common, const testing::Body& body) {
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < drivers.size(); ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = common;
      options.rank = static_cast<int>(rank);
      options.world = static_cast<int>(drivers.size());
      options.drivers = drivers[rank];
      options.shared_memory = SharedMemory::off;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::byte> bits_of(const Drivers& drivers, const JoinOptions& options) {
  std::vector<std::vector<std::byte>> bits(drivers.size());
  run_job(drivers, options, [&bits](Communicator& communicator) {
    check_sums(communicator);
    bits[static_cast<std::size_t>(communicator.rank())] = bits_of_sums(communicator);
  });
  for (const auto& each : bits) EXPECT_TRUE(each == bits[0]) << "of rank " << &each - bits.data();
  return bits[0];
}

TEST(Drivers, AnyNumberGivesTheSameBits) {
  const auto server = start_switch("127.0.0.1:0", 4);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  const std::vector<std::byte> one = bits_of({1, 1, 1}, options);
  EXPECT_GT(one.size(), 1'000'000U);
  for (const Drivers& drivers : {Drivers{2, 2, 2}, Drivers{4, 4, 4}, Drivers{1, 2, 4}}) {
    EXPECT_TRUE(bits_of(drivers, options) == one);
  }
}

TEST(Drivers, ServeTheSitesOfRanks) {
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  const std::vector<std::byte> one = bits_of({1, 1, 1}, options);
  EXPECT_TRUE(bits_of({2, 1, 3}, options) == one);
  const auto server = start_switch("127.0.0.1:0", 2);
  options.sites = Sites::mixed;
  options.switches = {server->join_address().text()};
  EXPECT_TRUE(bits_of({2, 4, 1}, options) == one);
}

TEST(Drivers, MoreThanSitesAreNotMade) {
  const auto server = start_switch("127.0.0.1:0", 2);
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  run_job({64, 2}, options, check_sums);
}

TEST(Drivers, ManyCallsFinishInTheirOrder) {
  const auto server = start_switch("127.0.0.1:0", 4);
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  run_job({4, 2}, options, [](Communicator& communicator) {
    constexpr std::size_t kCalls = 1500;  // more than tables can hold
    std::vector<std::vector<std::int32_t>> tensors;
    std::vector<Handle> handles;
    for (std::size_t call = 0; call < kCalls; ++call) {
      tensors.emplace_back(1 + call * 131 % 9000,
                           communicator.rank() + static_cast<std::int32_t>(call));
    }
    for (auto& tensor : tensors) handles.push_back(communicator.all_reduce(tensor));
    for (std::size_t call = 0; call < kCalls; ++call) {
      ASSERT_TRUE(handles[call].wait().has_value());
      ASSERT_EQ(tensors[call], std::vector<std::int32_t>(tensors[call].size(),
                                                         1 + 2 * static_cast<std::int32_t>(call)));
    }
  });
}

TEST(Drivers, EachErrorIsTheSameAtAllRanks) {
  const auto server = start_switch("127.0.0.1:0", 4);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  run_job({4, 1, 2}, options, [](Communicator& communicator) {
    std::vector<float> tensor(communicator.rank() == 1 ? 100'000 : 100'007, 1);
    const auto done = communicator.all_reduce(tensor).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::mismatch) << done.error().message;
    EXPECT_THAT(done.error().message, HasSubstr("rank 1 passed 100000 elements"));
    const auto later = communicator.all_reduce(tensor).wait();
    ASSERT_FALSE(later.has_value());
    EXPECT_EQ(later.error().code, Code::aborted) << later.error().message;
    EXPECT_THAT(later.error().message, HasSubstr("rank 1 passed 100000 elements"));
  });
}

TEST(Drivers, ALateRankEndsTheCallForAll) {
  const auto server = start_switch("127.0.0.1:0", 4);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  std::latch failed(2);
  run_job({4, 2, 2}, options, [&failed](Communicator& communicator) {
    std::vector<float> tensor(100'000, 1);
    if (communicator.rank() == 2) return failed.wait();
    // Only the call has a short deadline, because joining may take longer on a busy machine.
    const auto done = communicator.all_reduce(tensor, {.deadline = milliseconds(700)}).wait();
    failed.count_down();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, Code::deadline_exceeded) << done.error().message;
    // On a busy machine the packets of rank 1 may be late as well.
    EXPECT_THAT(done.error().message, ContainsRegex("waiting for rank(s [01] and)? 2"));
  });
}

TEST(Drivers, GoOnAtASwitchThatCameBack) {
  const std::string address = free_address();
  auto server = start_switch(address, 4);
  JoinOptions options = options_of(0, 2);
  options.switches = {address};
  options.deadline = std::chrono::seconds(30);
  std::atomic<int> ready = 0;
  std::atomic<bool> is_back = false;
  std::thread ranks([&] {
    run_job({4, 2}, options, [&](Communicator& communicator) {
      check_sums(communicator);
      ++ready;
      while (!is_back) std::this_thread::yield();
      // Now the job has fewer sites than there are drivers.
      check_sums(communicator);
      check_sums(communicator);
    });
  });
  while (ready < 2) std::this_thread::yield();
  server.reset();
  server = start_switch(address, 2);
  is_back = true;
  ranks.join();
}

TEST(Drivers, ARankThatLeavesInACallEndsIt) {
  const auto server = start_switch("127.0.0.1:0", 4);
  JoinOptions options = options_of(0, 2);
  options.switches = {server->join_address().text()};
  run_job({4, 4}, options, [](Communicator& communicator) {
    std::vector<float> tensor(2'000'000, 1);
    if (communicator.rank() == 1) return;
    const auto done = communicator.all_reduce(tensor).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().message, HasSubstr("rank 1 left the job"));
  });
}

}  // namespace
}  // namespace infold
