// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks at racks' switches below a parent, over loopback. They join as usual, and get the
// same bits as at one switch for all ranks.

#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"

namespace infold::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kAny[] = "127.0.0.1:0";

std::string address_of(const switches::SwitchServer& server) {
  return server.join_address().text();
}

struct Tree {
  explicit Tree(unsigned parent_threads = 1, unsigned a_threads = 1, unsigned b_threads = 1)
      : parent(start_switch(kAny, parent_threads)),
        a(start_switch(kAny, a_threads, 4096, address_of(*parent))),
        b(start_switch(kAny, b_threads, 4096, address_of(*parent))) {}

  std::unique_ptr<switches::SwitchServer> parent, a, b;
};

using Change = std::function<void(int rank, JoinOptions& options)>;

// Each rank joins at its switch.
void run_ranks(const std::vector<std::string>& switches, const Body& body,
               const Change& change = {}) {
  std::vector<std::thread> threads;
  const int world = static_cast<int>(switches.size());
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, world);
      options.switches = {switches[static_cast<std::size_t>(rank)]};
      options.shared_memory = SharedMemory::off;
      if (change) change(rank, options);
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::byte> bits_at_rank_zero(const std::vector<std::string>& switches,
                                         const Change& change = {}) {
  std::vector<std::byte> bits;
  run_ranks(
      switches,
      [&bits](Communicator& communicator) {
        std::vector<std::byte> own = bits_of_sums(communicator);
        if (communicator.rank() == 0) bits = std::move(own);
      },
      change);
  return bits;
}

std::uint64_t datagrams_received(switches::SwitchServer& server) {
  std::uint64_t sum = 0;
  for (const auto& shard : server.statistics()) sum += shard.socket.datagrams_received;
  return sum;
}

TEST(Racks, SumsAreRight) {
  const Tree tree;
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  run_ranks({a, a, b, b}, check_sums);
  EXPECT_TRUE(tree.parent->jobs().empty()) << "all have left";
  EXPECT_TRUE(tree.a->jobs().empty());
  EXPECT_TRUE(tree.b->jobs().empty());
}

TEST(Racks, BitsAreThoseOfOneSwitch) {
  const auto flat = start_switch(kAny);
  const std::string one = address_of(*flat);
  const std::vector<std::byte> expected = bits_at_rank_zero({one, one, one, one});
  ASSERT_FALSE(expected.empty());
  for (const unsigned threads : {1U, 2U}) {
    const Tree tree(2, threads, 2);
    const std::string a = address_of(*tree.a), b = address_of(*tree.b);
    const std::string parent = address_of(*tree.parent);
    EXPECT_TRUE(bits_at_rank_zero({a, a, b, b}) == expected);
    EXPECT_TRUE(bits_at_rank_zero({a, b, b, b}) == expected);
    EXPECT_TRUE(bits_at_rank_zero({a, a, a, a}) == expected) << "the rack is the root";
    EXPECT_TRUE(bits_at_rank_zero({a, a, parent, parent}) == expected);
    EXPECT_TRUE(bits_at_rank_zero({parent, b, b, parent}) == expected);
  }
}

TEST(Racks, HostsInRacksAreThreeLevels) {
  const auto flat = start_switch(kAny);
  const std::string one = address_of(*flat);
  const std::vector<std::byte> expected = bits_at_rank_zero(std::vector<std::string>(6, one));
  const Tree tree(2, 2, 2);
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  const std::vector<std::string> hosts = {"x", "x", "y", "z", "z", "z"};
  const Change on_hosts = [&](int rank, JoinOptions& options) {
    options.shared_memory = SharedMemory::always;
    options.host = hosts[static_cast<std::size_t>(rank)];
  };
  EXPECT_TRUE(bits_at_rank_zero({a, a, a, b, b, b}, on_hosts) == expected);
  // Here, the ranks of one host join at two switches.
  EXPECT_TRUE(bits_at_rank_zero({a, b, b, b, b, b}, on_hosts) == expected);
}

TEST(Racks, RanksThatSumAsWellAreReachedByAll) {
  const Tree tree(2, 1, 2);
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  run_ranks({a, a, b, b}, check_sums, [](int, JoinOptions& options) {
    options.sites = Sites::mixed;
    options.switch_weight = 3;
    options.worker_weight = 2;
  });
}

TEST(Racks, AJobStripesOverTrees) {
  const Tree first, second(2, 2, 2);
  const auto flat = start_switch(kAny);
  const std::vector<std::string> switches(4, address_of(*flat));
  run_ranks(switches, check_sums, [&](int rank, JoinOptions& options) {
    const bool is_a = rank < 2;
    options.switches = {address_of(is_a ? *first.a : *first.b), address_of(*flat),
                        address_of(is_a ? *second.a : *second.b)};
  });
}

// The parent gets one stream of packets from each rack.
TEST(Racks, TheParentGetsOneStreamOfEach) {
  const auto flat = start_switch(kAny);
  const Tree tree;
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  const auto sum = [](Communicator& communicator) {
    std::vector<std::int32_t> tensor(100'000, 1);
    ASSERT_TRUE(communicator.all_reduce(tensor).wait());
    EXPECT_EQ(tensor[99'999], 8);
  };
  run_ranks(std::vector<std::string>(8, address_of(*flat)), sum);
  run_ranks({a, a, a, a, b, b, b, b}, sum);
  EXPECT_LT(datagrams_received(*tree.parent), datagrams_received(*flat) / 2);
  run_ranks({a, a}, check_sums);
  const std::uint64_t before = datagrams_received(*tree.parent);
  run_ranks({b, b}, check_sums);
  EXPECT_EQ(datagrams_received(*tree.parent), before) << "a job in one rack stays there";
}

TEST(Racks, RanksThatInterleaveAreToldHowToNumberThem) {
  const Tree tree;
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, 3);
      options.switches = {rank == 1 ? b : a};
      const auto joined = Communicator::join(options);
      ASSERT_FALSE(joined.has_value());
      EXPECT_EQ(joined.error().code, Code::invalid_argument);
      EXPECT_EQ(joined.error().rank, 1);
      EXPECT_THAT(joined.error().message,
                  HasSubstr("ranks 0 and 2 join at " + a +
                            ", rank 1 between them does not; number the ranks rack by rack"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Sums until a call fails, and expects that the error names this lost switch.
Body sums_until_lost(std::atomic<int>& joined, const std::string& lost) {
  return [&joined, lost](Communicator& communicator) {
    ++joined;
    std::vector<float> tensor(100);
    Result<Completion> done = Completion{};
    while (done) done = communicator.all_reduce(tensor).wait();
    EXPECT_EQ(done.error().code, Code::unavailable) << done.error().message;
    EXPECT_THAT(done.error().message, HasSubstr(lost));
    EXPECT_THAT(done.error().message, HasSubstr("has stopped or cannot be reached"));
  };
}

void stays_away(int, JoinOptions& options) { options.rejoin = false; }

TEST(Racks, AParentThatStopsIsNamed) {
  Tree tree;
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  const std::string parent = address_of(*tree.parent);
  std::atomic<int> joined{0};
  std::thread stopper([&] {
    while (joined < 4) std::this_thread::yield();
    tree.parent.reset();
  });
  run_ranks({a, a, b, b}, sums_until_lost(joined, parent), stays_away);
  stopper.join();
}

TEST(Racks, ARacksSwitchThatStopsIsASwitchLost) {
  Tree tree;
  const std::string a = address_of(*tree.a), b = address_of(*tree.b);
  std::atomic<int> joined{0};
  std::thread stopper([&] {
    while (joined < 4) std::this_thread::yield();
    tree.b.reset();
  });
  run_ranks({a, a, b, b}, sums_until_lost(joined, ""), stays_away);
  stopper.join();
}

// Whichever switch stops, the job continues once it is back. If a call were in flight, ranks of
// other racks could have results that the ranks of the lost switch lack, so no call is.
TEST(Racks, JobsComeBackToAParentAndToARack) {
  for (const bool is_parent : {true, false}) {
    Tree tree;
    const std::string a = address_of(*tree.a), b = address_of(*tree.b);
    const std::string parent = address_of(*tree.parent);
    std::barrier all(5);
    std::thread stopper([&] {
      all.arrive_and_wait();
      auto& restarted = is_parent ? tree.parent : tree.b;
      restarted.reset();
      all.arrive_and_wait();
      restarted = start_switch(is_parent ? parent : b, 1, 4096, is_parent ? "" : parent);
    });
    run_ranks({a, a, b, b}, [&](Communicator& communicator) {
      for (int i = 0; i < 20; ++i) {
        std::vector<std::int32_t> tensor(5000, communicator.rank()), output(5000);
        const auto done = communicator.all_reduce(tensor, output).wait();
        ASSERT_TRUE(done.has_value()) << done.error().message;
        ASSERT_EQ(output[4999], 6);
        if (i != 10) continue;
        all.arrive_and_wait();
        all.arrive_and_wait();
      }
    });
    stopper.join();
  }
}

TEST(Racks, ASwitchIsNotItsOwnParent) {
  switches::SwitchOptions options;
  options.listen = *io::SocketAddress::parse(free_address(), "test");
  options.parent = options.listen;
  const auto server = switches::SwitchServer::start(options);
  ASSERT_FALSE(server.has_value());
  EXPECT_STREQ(server.error().detail,
               "is the address of this switch itself; name the switch above it");
}

TEST(Racks, ACircleOfSwitchesIsNamed) {
  const std::string here = free_address();
  const auto one = start_switch(kAny, 1, 4096, here);
  const auto other = start_switch(here, 1, 4096, address_of(*one));
  JoinOptions options = options_of(0, 1);
  options.switches = {here};
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("has a parent itself"));
}

}  // namespace
}  // namespace infold::testing
