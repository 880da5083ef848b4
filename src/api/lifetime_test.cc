// SPDX-License-Identifier: Apache-2.0
//
// Tests threads, many concurrent calls, and the construction and destruction of communicators and
// handles.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <malloc.h>
#include <string>
#include <vector>

#include "api/testing.h"

namespace infold {
namespace {

using testing::expect_done;
using testing::make_group;
using testing::on_every_rank;

std::size_t thread_count() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Excludes freed memory that the C library keeps, because its amount depends on how threads took
// turns.
std::size_t resident_pages() {
  malloc_trim(0);
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST(Lifetime, ManyCallsMayBeInFlight) {
  LocalGroup group = make_group({.world = 3, .faults = {.loss = 0.02}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    constexpr int kCalls = 300;
    std::vector<std::vector<std::int32_t>> tensors;
    std::vector<Handle> handles;
    for (int call = 0; call < kCalls; ++call) {
      // The sizes range from one packet to more than the slots of small tensors hold.
      tensors.emplace_back(static_cast<std::size_t>(1 + call * 131 % 9000), rank + call);
    }
    for (auto& tensor : tensors) handles.push_back(comm.all_reduce(tensor));
    for (int call = 0; call < kCalls; ++call) {
      expect_done(handles[static_cast<std::size_t>(call)].wait(), 3);
      const auto& tensor = tensors[static_cast<std::size_t>(call)];
      EXPECT_EQ(tensor, std::vector<std::int32_t>(tensor.size(), 3 + 3 * call));
    }
  });
}

TEST(Lifetime, MoreCallsThanTheTablesHoldWaitForTheirTurn) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    constexpr std::size_t kCalls = 3000;
    std::vector<std::int64_t> values(kCalls, 1);
    std::vector<Handle> handles;
    for (std::int64_t& value : values) handles.push_back(comm.all_reduce(std::span(&value, 1)));
    for (Handle& handle : handles) expect_done(handle.wait(), 2);
    EXPECT_EQ(values, std::vector<std::int64_t>(kCalls, 2));
  });
}

TEST(Lifetime, SeveralThreadsMayShareACommunicator) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    // Identical calls match in whatever order the threads make them.
    std::vector<std::future<void>> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.push_back(std::async(std::launch::async, [&comm, rank] {
        for (int call = 0; call < 100; ++call) {
          std::vector<std::int32_t> tensor(500, rank + 1);
          expect_done(comm.all_reduce(tensor).wait(), 2);
          EXPECT_EQ(tensor, std::vector<std::int32_t>(500, 3));
          static_cast<void>(comm.statistics());
        }
      }));
    }
    for (auto& thread : threads) thread.get();
    EXPECT_EQ(comm.statistics().calls, 400U);
  });
}

TEST(Lifetime, SeveralThreadsMayWaitForOneHandle) {
  LocalGroup group = make_group({.world = 2});
  std::vector<float> tensors[2] = {std::vector<float>(10, 1), std::vector<float>(10, 2)};
  Handle handle = group[0].all_reduce(tensors[0]);
  std::vector<std::future<bool>> waiting;
  for (int thread = 0; thread < 4; ++thread) {
    waiting.push_back(std::async(std::launch::async, [&] { return handle.wait().has_value(); }));
  }
  expect_done(group[1].all_reduce(tensors[1]).wait(), 2);
  for (auto& each : waiting) EXPECT_TRUE(each.get());
}

TEST(Lifetime, DestroyingAHandleWaitsSoThatItsTensorIsSafe) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<float> tensor(20'000, 1.0F);
    {
      const Handle dropped = comm.all_reduce(tensor);
    }
    EXPECT_EQ(tensor, std::vector<float>(20'000, 2.0F));
  });
}

TEST(Lifetime, HandlesMayOutliveCommunicatorAndGroup) {
  Handle done;
  Handle unfinished;
  std::vector<float> a(10, 1.0F);
  std::vector<float> b(10, 2.0F);
  {
    LocalGroup group = make_group({.world = 2});
    done = group[0].all_reduce(a);
    expect_done(group[1].all_reduce(b).wait(), 2);
    expect_done(done.wait(), 2);
    unfinished = group[0].barrier();
  }
  expect_done(done.wait(), 2);
  ASSERT_FALSE(unfinished.wait().has_value());
  EXPECT_EQ(unfinished.wait().error().code, Code::cancelled);
  unfinished.cancel();
}

TEST(Lifetime, MovedOutCommunicatorsOutliveTheGroup) {
  std::vector<Communicator> communicators;
  {
    LocalGroup group = make_group({.world = 2});
    communicators.push_back(std::move(group[0]));
    communicators.push_back(std::move(group[1]));
  }
  std::vector<float> a(10, 1.0F);
  std::vector<float> b(10, 2.0F);
  Handle first = communicators[0].all_reduce(a);
  expect_done(communicators[1].all_reduce(b).wait(), 2);
  expect_done(first.wait(), 2);
}

TEST(Lifetime, CreatingAndDestroyingLeaksNeitherThreadsNorMemory) {
  const auto once = [] {
    LocalGroup group = make_group({.world = 3});
    on_every_rank(group, [&](Communicator& comm, int) {
      std::vector<float> tensor(10'000, 1.0F);
      expect_done(comm.all_reduce(tensor).wait(), 3);
    });
  };
  for (int warm_up = 0; warm_up < 10; ++warm_up) once();
  // Counted after the first threads, because a sanitizer may start its own thread together with
  // them.
  const std::size_t threads = thread_count();
  const std::size_t pages = resident_pages();
  for (int round = 0; round < 50; ++round) once();
  EXPECT_LE(thread_count(), threads);
#if !defined(INFOLD_SANITIZED)  // Sanitizers keep freed memory for a while.
  // The 50 groups use some 250 MB one after the other, so that a leak of a single group would show.
  EXPECT_LT(resident_pages(), pages + 1000);
#else
  static_cast<void>(pages);
#endif
}

TEST(Lifetime, IdleCommunicatorsSendNothing) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [](Communicator& comm, int) { expect_done(comm.barrier().wait(), 2); });
  const NetworkStatistics before = group.network();
  on_every_rank(
      group, [](Communicator& comm, int) { EXPECT_EQ(comm.statistics().packets_in_flight, 0U); });
  EXPECT_EQ(group.network().sent, before.sent);
}

TEST(Lifetime, StatisticsCountLossAndRecovery) {
  LocalGroup group = make_group({.world = 2, .faults = {.loss = 0.1, .seed = 5}});
  on_every_rank(group, [](Communicator& comm, int) {
    std::vector<float> tensor(200'000, 1.0F);
    expect_done(comm.all_reduce(tensor).wait(), 2);
    EXPECT_EQ(tensor, std::vector<float>(200'000, 2.0F));
    const Statistics statistics = comm.statistics();
    EXPECT_GT(statistics.packets_resent, 20U);
    EXPECT_GE(statistics.packets_received, 200'000U / 352);
    EXPECT_GT(statistics.packets_sent, statistics.packets_resent);
    EXPECT_GT(statistics.window, 0U);
  });
  const NetworkStatistics network = group.network();
  EXPECT_GT(network.lost, 100U);
  EXPECT_GT(network.sent, network.lost);
}

}  // namespace
}  // namespace infold
