// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks on named hosts. They get the same bits whichever ranks share memory, and use the
// network if sharing fails.

#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/host_identity.h"
#include "join/client/job_link.h"

namespace infold::testing {
namespace {

struct Layout {
  const char* name;
  Hosts hosts;
  unsigned threads;  // threads of the switch
  std::uint32_t in_memory;
  std::uint32_t on_network;
};

class OnHosts : public ::testing::TestWithParam<Layout> {};

TEST_P(OnHosts, SumsAreRight) {
  const auto server = start_switch("127.0.0.1:0", GetParam().threads);
  JoinOptions options = options_of(0, 4);
  options.switches = {server->join_address().text()};
  const auto body = [](Communicator& communicator) {
    EXPECT_EQ(communicator.statistics().ranks_in_memory, GetParam().in_memory);
    EXPECT_EQ(communicator.statistics().contributions_on_network, GetParam().on_network);
    check_sums(communicator);
  };
  run_job(4, options, body, GetParam().hosts);
  EXPECT_TRUE(server->jobs().empty()) << "all have left";
}

std::vector<std::byte> bits_at_rank_zero(const Layout& layout) {
  const auto server = start_switch("127.0.0.1:0", layout.threads);
  JoinOptions options = options_of(0, 4);
  options.switches = {server->join_address().text()};
  std::vector<std::byte> bits;
  const auto body = [&bits](Communicator& communicator) {
    std::vector<std::byte> own = bits_of_sums(communicator);
    if (communicator.rank() == 0) bits = std::move(own);
  };
  run_job(4, options, body, layout.hosts);
  return bits;
}

TEST_P(OnHosts, BitsAreThoseOfTheNetworkAlone) {
  static const std::vector<std::byte> expected = bits_at_rank_zero({"", {}, 1, 0, 4});
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(bits_at_rank_zero(GetParam()) == expected);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, OnHosts,
    ::testing::Values(Layout{"Off", {}, 1, 0, 4}, Layout{"OneHost", {"a", "a", "a", "a"}, 1, 4, 0},
                      Layout{"OneHostTwoSites", {"a", "a", "a", "a"}, 2, 4, 0},
                      Layout{"TwoHosts", {"a", "a", "b", "b"}, 1, 4, 2},
                      Layout{"TwoHostsThreeSites", {"a", "a", "b", "b"}, 3, 4, 2},
                      Layout{"ThreeAndOne", {"a", "b", "b", "b"}, 1, 3, 2},
                      Layout{"NoNeighbours", {"a", "b", "a", "b"}, 1, 0, 4},
                      Layout{"TwoAlone", {"a", "b", "b", "c"}, 1, 2, 3}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(HostShare, SeveralSwitchesShareAJobOfHosts) {
  const auto first = start_switch("127.0.0.1:0");
  const auto second = start_switch("127.0.0.1:0", 2);
  JoinOptions options = options_of(0, 4);
  options.switches = {first->join_address().text(), second->join_address().text()};
  run_job(4, options, check_sums, {"a", "a", "b", "b"});
  run_job(4, options, check_sums, {"a", "a", "a", "a"});
}

TEST(HostShare, OneHostNeedsNeitherSlotsNorSitesOfRanks) {
  const auto server = start_switch("127.0.0.1:0", 1, 16);
  JoinOptions options = options_of(0, 3);
  options.switches = {server->join_address().text()};
  run_job(3, options, check_sums, {"a", "a", "a"});
  EXPECT_EQ(server->statistics()[0].socket.datagrams_received, 0U);

  JoinOptions workers = options_of(0, 3);
  workers.sites = Sites::workers;
  workers.rendezvous = free_address();
  run_job(3, workers,
          [](Communicator& communicator) {
            EXPECT_EQ(communicator.statistics().ranks_in_memory, 3U);
            check_sums(communicator);
          },
          {"a", "a", "a"});
  workers.rendezvous = free_address();
  run_job(3, workers,
          [](Communicator& communicator) {
            EXPECT_EQ(communicator.statistics().ranks_in_memory, 0U)
                << "sites of ranks on two hosts";
            check_sums(communicator);
          },
          {"a", "a", "b"});
}

TEST(HostShare, SwitchesAndWorkersMixOnOneHostOrWithout) {
  const auto first = start_switch("127.0.0.1:0");
  const auto second = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 3);
  options.sites = Sites::mixed;
  options.switches = {first->join_address().text(), second->join_address().text()};
  run_job(3, options, check_sums, {"a", "a", "a"});
  run_job(3, options,
          [](Communicator& communicator) {
            EXPECT_EQ(communicator.statistics().ranks_in_memory, 0U);
            check_sums(communicator);
          },
          {"a", "a", "b"});
}

// The host's memory cannot be opened, and its ranks notice that only when they meet.
TEST(HostShare, WithoutMemoryAllGoOverTheNetwork) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 4);
  options.switches = {server->join_address().text()};
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  run_job(4, options,
          [](Communicator& communicator) {
            EXPECT_EQ(communicator.statistics().ranks_in_memory, 0U);
            EXPECT_EQ(communicator.statistics().contributions_on_network, 4U);
            check_sums(communicator);
          },
          {"a", "a", "b", "b"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

// A rank claims to be on the others' host but never meets them, first as their leader and then as a
// member.
TEST(HostShare, ARankThatDoesNotComeToTheMeetingMeansTheNetwork) {
  for (const std::uint32_t absent : {0U, 2U}) {
    const auto server = start_switch("127.0.0.1:0");
    const std::string address = server->join_address().text();
    std::unique_ptr<join::JobLink> kept;  // until all have joined
    std::thread stranger([&] {
      join::Hello hello;
      hello.job = "test";
      hello.rank = absent;
      hello.world = 3;
      hello.datagram_bytes_max = 1472;
      hello.small_slots = 64;
      hello.bulk_slots = 448;
      hello.patience = std::chrono::seconds(20);
      hello.host = join::RankHost{io::host_identity("a"), "infold-nobody"};
      auto link = join::JobLink::join(address, hello, {});
      ASSERT_TRUE(link.has_value()) << link.error().message;
      ASSERT_EQ((*link)->terms().groups.size(), 1U);
      const auto ready = (*link)->ready({.shares_memory = true});
      ASSERT_TRUE(ready.has_value()) << ready.error().message;
      EXPECT_TRUE((*link)->terms().groups.empty());
      kept = std::move(*link);
    });
    std::vector<std::thread> ranks;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      if (rank == absent) continue;
      ranks.emplace_back([&, rank] {
        JoinOptions options = options_of(static_cast<int>(rank), 3);
        options.switches = {address};
        options.host = "a";
        options.deadline = std::chrono::seconds(2);
        const auto communicator = Communicator::join(options);
        ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
        EXPECT_EQ(communicator->statistics().contributions_on_network, 3U);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    stranger.join();
  }
}

// Hosts that are left out reach the same sites under other numbers.
TEST(HostShare, OnlyHostsThatSaveBytesUseItByThemselves) {
  const auto server = start_switch("127.0.0.1:0");
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 6; ++rank) {
    ranks.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, 6);
      options.switches = {server->join_address().text()};
      options.host = rank < 2 ? "a" : "b";
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      EXPECT_EQ(communicator->statistics().ranks_in_memory, 4U);
      EXPECT_EQ(communicator->statistics().contributions_on_network, 3U);
      check_sums(*communicator);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(HostShare, ALeaderStaysUntilTheOthersHaveTheirResults) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, 4);
  options.switches = {server->join_address().text()};
  for (const Hosts& hosts : {Hosts{"a", "a", "b", "b"}, Hosts{"a", "a", "a", "a"}}) {
    for (int life = 0; life < 10; ++life) {
      run_job(
          4, options,
          [](Communicator& communicator) {
            std::vector<float> tensor(100'000, 1);
            const auto done = communicator.all_reduce(tensor).wait();
            EXPECT_TRUE(done.has_value()) << done.error().message;
          },
          hosts);
    }
  }
}

}  // namespace
}  // namespace infold::testing
