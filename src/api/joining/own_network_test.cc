// SPDX-License-Identifier: Apache-2.0
//
// Tests jobs on networks that differ from loopback: a path whose MTU shrinks, link-local addresses.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/address/own_network_testing.h"
#include "io/host/clock.h"

namespace infold {
namespace {

// Sums until a call fails, and returns the error's text.
std::string sum_until_it_fails(Communicator& communicator, bool shrinks) {
  std::vector<float> tensor(20'000);
  for (int i = 0; i < 1000; ++i) {
    if (shrinks && i == 5 && !io::set_loopback_mtu(1300)) return "cannot set the MTU";
    const auto done =
        communicator.all_reduce(tensor, {.deadline = std::chrono::seconds(60)}).wait();
    if (!done) return done.error().message;
  }
  return "no call failed";
}

// Runs in its own process, because a thread stays in the network that it has entered.
void run_in_own_network() {
  if (!io::enter_own_network(1500)) {
    std::fprintf(stderr, "a network namespace takes root");
    std::exit(0);
  }
  const auto server = testing::start_switch("127.0.0.1:0");
  JoinOptions options = testing::options_of(0, 2);
  options.switches = {server->join_address().text()};
  std::vector<std::string> messages(2);
  testing::run_job(2, options, [&messages](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    messages[rank] = sum_until_it_fails(communicator, rank == 0);
  });
  std::fprintf(stderr, "%s\n%s\n", messages[0].c_str(), messages[1].c_str());
  std::exit(0);
}

void join_at_link_local_addresses(Sites sites) {
  if (!io::enter_own_network(1500) || !io::add_link_local_address()) {
    std::fprintf(stderr, "a network namespace takes root");
    std::exit(0);
  }
  const auto server = testing::start_switch("[fe80::1%lo]:0");
  JoinOptions options = testing::options_of(0, 2);
  options.sites = sites;
  options.switches = {server->join_address().text()};
  testing::run_job(2, options, [](Communicator& communicator) {
    testing::check_sums(communicator);
    std::fprintf(stderr, "rank %d has summed\n", communicator.rank());
  });
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST(LinkLocal, RanksJoinASwitch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(join_at_link_local_addresses(Sites::switches), ::testing::ExitedWithCode(0),
              "has summed|a network namespace takes root");
}

TEST(LinkLocal, RanksSumForEachOtherToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(join_at_link_local_addresses(Sites::mixed), ::testing::ExitedWithCode(0),
              "has summed|a network namespace takes root");
}

TEST(NarrowPath, EndsTheJobAtOnceAndNamesTheMtu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const base::Instant start = io::monotonic_now();
  EXPECT_EXIT(run_in_own_network(), ::testing::ExitedWithCode(0),
              "MTU now 1300 bytes|a network namespace takes root");
  EXPECT_LT(io::monotonic_now() - start, base::seconds(50)) << "it waited for the deadline";
}

}  // namespace
}  // namespace infold
