// SPDX-License-Identifier: Apache-2.0
//
// Real ranks of this process and emulated ranks join one real switch over loopback, through an
// emulator. Every sum is compared with what all ranks contribute.
#include "study/emulate/at_switch/switch_emulator.h"

#include <barrier>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "api/joining/join_testing.h"
#include "study/emulate/contribution.h"

namespace infold::emulate {
namespace {

using infold::testing::Body;
using infold::testing::options_of;
using infold::testing::start_switch;
using ::testing::AnyOf;
using ::testing::HasSubstr;

std::unique_ptr<SwitchEmulator> start(const switches::SwitchServer& real_switch,
                                      EmulationOptions options) {
  options.listen = *io::SocketAddress::parse("127.0.0.1:0", "test");
  options.real_switch = real_switch.join_address();
  auto emulator = SwitchEmulator::start(options);
  EXPECT_TRUE(emulator.has_value()) << emulator.error().detail;
  return std::move(*emulator);
}

struct Joining {
  SharedMemory memory = SharedMemory::off;
  bool rejoins = false;
  Sites sites = Sites::switches;
  int drivers = 1;
};

void run_real(const SwitchEmulator& emulator, int real, int world, const Body& body,
              const Joining& joining = {}) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < real; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, world);
      options.switches = {emulator.address().text()};
      options.shared_memory = joining.memory;
      options.rejoin = joining.rejoins;
      options.sites = joining.sites;
      options.drivers = joining.drivers;
      if (joining.sites == Sites::mixed) options.worker_weight = 2;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void check_sums(Communicator& comm, int calls) {
  const auto world = static_cast<std::uint16_t>(comm.world());
  for (int call = 0; call < calls; ++call) {
    std::vector<float> tensor(call % 3 == 0 ? 5 : 20'000 + static_cast<std::size_t>(call));
    const auto value = [](int rank, std::size_t i) {
      return static_cast<float>(
          generated_value(DataType::f32, static_cast<std::uint16_t>(rank), i));
    };
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = value(comm.rank(), i);
    const auto done = comm.all_reduce(std::span(tensor)).wait();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(done->ranks_summed, world);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < world; ++rank) sum += value(rank, i);
      ASSERT_EQ(tensor[i], sum) << "call " << call << ", element " << i;
    }
  }
}

TEST(SwitchEmulator, ARealSwitchSumsRealAndEmulatedRanks) {
  for (const unsigned threads : {1U, 3U}) {
    const auto real_switch = start_switch("127.0.0.1:0", threads);
    const auto emulator = start(*real_switch, {.ranks = 8, .real = 2, .values = Values::generated});
    run_real(*emulator, 2, 8, [](Communicator& comm) { check_sums(comm, 6); });
    const EmulationReport report = emulator->report();
    EXPECT_EQ(report.counters.transfers, 6U);
    EXPECT_GT(report.counters.packets_in, 0U);
    EXPECT_EQ(report.counters.packets_refused, 0U);
    EXPECT_TRUE(real_switch->jobs().empty()) << "all ranks have left";
  }
}

// A job's name is free again as soon as the last real rank has left.
TEST(SwitchEmulator, JobsOfOneNameFollowEachOther) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 5, .real = 1, .values = Values::generated});
  for (int job = 0; job < 5; ++job) {
    run_real(*emulator, 1, 5, [](Communicator& comm) { check_sums(comm, 1); });
  }
  EXPECT_EQ(emulator->report().counters.transfers, 5U);
}

TEST(SwitchEmulator, LossAndSlowLinksChangeNoSum) {
  const auto real_switch = start_switch("127.0.0.1:0", 2);
  const auto emulator = start(*real_switch, {.ranks = 6,
                                             .real = 2,
                                             .link = {.bits_per_second = 200'000'000,
                                                      .delay = base::microseconds(200),
                                                      .queue_bytes_max = 64 << 10},
                                             .loss = 0.03,
                                             .values = Values::generated,
                                             .lag = {.mean = base::microseconds(300)}});
  run_real(*emulator, 2, 6, [](Communicator& comm) { check_sums(comm, 6); });
}

// Real ranks of one host sum there first, as they do at any switch.
TEST(SwitchEmulator, RealRanksMayShareMemory) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 6, .real = 3, .values = Values::generated});
  run_real(*emulator, 3, 6, [](Communicator& comm) { check_sums(comm, 4); },
           {.memory = SharedMemory::always});
}

// A real switch and every rank sum a share, so packets travel between all of them.
TEST(SwitchEmulator, ARealSwitchSumsBesideRanksThatSum) {
  for (const int drivers : {1, 2}) {
    const auto real_switch = start_switch("127.0.0.1:0", 2);
    const auto emulator = start(*real_switch, {.ranks = 7,
                                               .real = 3,
                                               .shape = {.weights = {3}, .ranks_sum = true},
                                               .values = Values::generated});
    for (int job = 0; job < 3; ++job) {  // the next job needs the name to be free
      run_real(*emulator, 3, 7, [](Communicator& comm) { check_sums(comm, 4); },
               {.sites = Sites::mixed, .drivers = drivers});
      EXPECT_TRUE(real_switch->jobs().empty()) << "all ranks have left";
    }
    const EmulationReport report = emulator->report();
    EXPECT_EQ(report.counters.transfers, 12U);
    EXPECT_GT(report.counters.packets_in, 0U);
    EXPECT_EQ(report.counters.packets_refused, 0U);
  }
}

TEST(SwitchEmulator, LossAndSlowLinksChangeNoSumOfRanksThatSum) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 5,
                                             .real = 2,
                                             .shape = {.ranks_sum = true},
                                             .link = {.bits_per_second = 200'000'000,
                                                      .delay = base::microseconds(200),
                                                      .queue_bytes_max = 64 << 10},
                                             .loss = 0.03,
                                             .values = Values::generated});
  run_real(*emulator, 2, 5, [](Communicator& comm) { check_sums(comm, 6); },
           {.sites = Sites::mixed});
}

TEST(SwitchEmulator, ARankThatSumsAndLeavesEndsTheJobForTheOthers) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 5, .real = 3, .shape = {.ranks_sum = true}});
  std::barrier have_results(3);
  for (int job = 0; job < 2; ++job) {
    run_real(*emulator, 3, 5,
             [&](Communicator& comm) {
               std::vector<float> tensor(10'000, 1);
               const auto first = comm.all_reduce(std::span(tensor)).wait();
               have_results.arrive_and_wait();
               ASSERT_TRUE(first.has_value()) << first.error().message;
               if (comm.rank() == 1) return;
               const auto done = comm.all_reduce(std::span(tensor)).wait();
               ASSERT_FALSE(done.has_value());
               EXPECT_EQ(done.error().rank, 1) << done.error().message;
             },
             {.sites = Sites::mixed});
  }
}

TEST(SwitchEmulator, ARankThatLeavesEndsTheJobForTheOther) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 4, .real = 2});
  for (int job = 0; job < 2; ++job) {
    run_real(*emulator, 2, 4, [](Communicator& comm) {
      std::vector<float> tensor(10, 1);
      ASSERT_TRUE(comm.all_reduce(std::span(tensor)).wait().has_value());
      if (comm.rank() == 1) return;
      const auto done = comm.all_reduce(std::span(tensor)).wait();
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().rank, 1) << done.error().message;
    });
  }
}

TEST(SwitchEmulator, WhatCannotBeGeneratedEndsTheJob) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto call = [](Communicator& comm) {
    std::vector<float> tensor(3000, 1.5F);
    const auto done = comm.all_reduce(std::span(tensor), {.wire = WireFormat::fixed32}).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().rank, 1) << done.error().message;
  };
  for (const bool ranks_sum : {false, true}) {
    const auto emulator = start(
        *real_switch,
        {.ranks = 3, .real = 1, .shape = {.ranks_sum = ranks_sum}, .values = Values::generated});
    run_real(*emulator, 1, 3, call, {.sites = ranks_sum ? Sites::mixed : Sites::switches});
  }
}

std::string error_of(const SwitchEmulator& emulator, JoinOptions options) {
  options.switches = {emulator.address().text()};
  const Result<Communicator> joined = Communicator::join(options);
  return joined ? "joined" : joined.error().message;
}

TEST(SwitchEmulator, PassesRefusalsOn) {
  const auto real_switch = start_switch("127.0.0.1:0", 1, 2);
  const auto emulator = start(*real_switch, {.ranks = 3, .real = 1});
  EXPECT_THAT(error_of(*emulator, options_of(1, 3)), HasSubstr("rank 1 is emulated"));
  EXPECT_THAT(error_of(*emulator, options_of(0, 8)),
              HasSubstr("the emulator has 3 ranks, and the job has 8"));
  JoinOptions verifying = options_of(0, 3);
  verifying.verify = true;
  EXPECT_THAT(error_of(*emulator, verifying), HasSubstr("INFOLD_VERIFY"));
  run_real(*emulator, 1, 3,
           [](Communicator& comm) { ASSERT_TRUE(comm.barrier().wait().has_value()); });
}

// Rank 1 joins at the switch itself, which allows jobs in which only some ranks sum.
TEST(SwitchEmulator, EitherAllRanksSumOrNone) {
  const auto real_switch = start_switch("127.0.0.1:0");
  for (const bool ranks_sum : {false, true}) {
    const auto emulator =
        start(*real_switch, {.ranks = 4, .real = 2, .shape = {.ranks_sum = ranks_sum}});
    JoinOptions options = options_of(0, 4);
    options.shared_memory = SharedMemory::off;
    options.sites = ranks_sum ? Sites::switches : Sites::mixed;
    EXPECT_THAT(error_of(*emulator, options),
                HasSubstr(ranks_sum ? "rank 0 sums no share, and emulated ranks do"
                                    : "rank 0 sums a share, and emulated ranks do not"));
    std::thread astray([&, odd = options.sites] {
      JoinOptions other = options_of(1, 4);
      other.switches = {real_switch->join_address().text()};
      other.shared_memory = SharedMemory::off;
      other.rejoin = false;
      other.sites = odd;
      Result<Communicator> joined = Communicator::join(other);
      if (!joined) return;
      EXPECT_FALSE(joined->barrier().wait().has_value());
    });
    options.sites = ranks_sum ? Sites::mixed : Sites::switches;
    EXPECT_THAT(error_of(*emulator, options),
                HasSubstr("some ranks of the job sum a share, and others do not"));
    astray.join();
  }
}

// Another rank has taken the place of an emulated rank at the switch.
TEST(SwitchEmulator, RealRanksHearWhenAnEmulatedRankIsRefused) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 3, .real = 1});
  JoinOptions stranger = options_of(2, 3);
  stranger.switches = {real_switch->join_address().text()};
  stranger.shared_memory = SharedMemory::off;
  std::thread other([&] {
    const auto joined = Communicator::join(stranger);
    EXPECT_FALSE(joined.has_value());
  });
  while (real_switch->jobs().empty()) std::this_thread::yield();
  // With the stranger, all ranks may be present before the emulated rank arrives.
  EXPECT_THAT(error_of(*emulator, options_of(0, 3)),
              AnyOf(HasSubstr("has a rank 2 already"), HasSubstr("a job named 'test' is running")));
  other.join();
}

// If rank 0 joined at the switch itself, the emulator would not learn of its calls.
TEST(SwitchEmulator, RankZeroMustJoinAtTheEmulator) {
  const auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 4, .real = 2});
  std::thread astray([&] {
    JoinOptions options = options_of(0, 4);
    options.switches = {real_switch->join_address().text()};
    options.shared_memory = SharedMemory::off;
    options.rejoin = false;
    Result<Communicator> joined = Communicator::join(options);
    if (!joined) return;
    EXPECT_FALSE(joined->barrier().wait().has_value());
  });
  JoinOptions options = options_of(1, 4);
  options.shared_memory = SharedMemory::off;
  EXPECT_THAT(error_of(*emulator, options), HasSubstr("rank 0 has joined at the switch itself"));
  astray.join();
}

TEST(SwitchEmulator, RealRanksHearWhenTheSwitchGoes) {
  auto real_switch = start_switch("127.0.0.1:0");
  const auto emulator = start(*real_switch, {.ranks = 4, .real = 1});
  run_real(*emulator, 1, 4, [&](Communicator& comm) {
    std::vector<float> tensor(10, 1);
    ASSERT_TRUE(comm.all_reduce(std::span(tensor)).wait().has_value());
    real_switch.reset();
    const auto done = comm.all_reduce(std::span(tensor)).wait();
    ASSERT_FALSE(done.has_value());
  });
}

TEST(SwitchEmulator, TheJobComesBackWithTheSwitch) {
  const std::string address = infold::testing::free_address();
  auto real_switch = start_switch(address);
  const auto emulator = start(*real_switch, {.ranks = 5, .real = 1, .values = Values::generated});
  run_real(*emulator, 1, 5,
           [&](Communicator& comm) {
             check_sums(comm, 2);
             real_switch.reset();
             real_switch = start_switch(address);
             check_sums(comm, 2);
           },
           {.rejoins = true});
}

TEST(SwitchEmulator, RealRanksHearWhenTheEmulatorGoes) {
  const auto real_switch = start_switch("127.0.0.1:0");
  auto emulator = start(*real_switch, {.ranks = 4, .real = 1});
  run_real(*emulator, 1, 4, [&](Communicator& comm) {
    std::vector<float> tensor(10, 1);
    ASSERT_TRUE(comm.all_reduce(std::span(tensor)).wait().has_value());
    emulator.reset();
    const auto done = comm.all_reduce(std::span(tensor)).wait();
    ASSERT_FALSE(done.has_value());
  });
  while (!real_switch->jobs().empty()) std::this_thread::yield();
}

}  // namespace
}  // namespace infold::emulate
