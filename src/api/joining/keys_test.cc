// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks that join with keys: at a rendezvous with a secret, at a switch, and at the switches
// of racks below a parent.
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "keys/token/join_string.h"
#include "keys/token/keyring.h"

namespace infold::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAnyPort[] = "127.0.0.1:0";
constexpr char kSecret[] = "a-secret-of-all-ranks";

// A switch with keys of its own.
struct KeyedSwitch {
  explicit KeyedSwitch(const std::string& parent = "") {
    switches::SwitchOptions options;
    options.listen = *io::SocketAddress::parse(kAnyPort, "test");
    if (!parent.empty()) {
      options.parent_keys = *keys::parse_join_string(parent);
      options.parent = *io::SocketAddress::parse(options.parent_keys.place, "test");
    }
    options.joining.identity = identity;
    options.joining.tokens =
        join::TokenCheck(std::make_shared<keys::LiveKeyring>(keys::Keyring{secret, {}, {}}));
    auto started = switches::SwitchServer::start(options);
    EXPECT_TRUE(started.has_value());
    server = std::move(*started);
  }

  std::string join_string(const keys::Grant& grant = {}) const {
    return keys::text_of({.place = server->join_address().text(),
                          .fingerprint = identity.fingerprint(),
                          .token = *keys::make_token(grant, secret)});
  }

  keys::Identity identity = *keys::Identity::make();
  keys::Secret secret = *keys::draw_secret();
  std::unique_ptr<switches::SwitchServer> server;
};

// Each rank joins with its own string. Returns the errors of those that cannot join.
std::vector<std::string> join_with(const std::vector<std::string>& strings) {
  std::vector<std::string> errors(strings.size());
  std::vector<std::thread> threads;
  const int world = static_cast<int>(strings.size());
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      const auto index = static_cast<std::size_t>(rank);
      JoinOptions options = options_of(rank, world);
      options.switches = {strings[index]};
      options.shared_memory = SharedMemory::off;
      Result<Communicator> joined = Communicator::join(options);
      if (joined) check_sums(*joined);
      if (!joined) errors[index] = joined.error().message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void sum_up(JoinOptions options) {
  options.shared_memory = SharedMemory::off;
  Result<Communicator> joined = Communicator::join(options);
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  check_sums(*joined);
}

// Returns what rank 1 of 2 hears that cannot join.
std::string error_at(const std::string& rendezvous) {
  JoinOptions options = options_of(1, 2);
  options.rendezvous = rendezvous;
  const auto joined = Communicator::join(options);
  return joined ? "" : joined.error().message;
}

TEST(JoinKeys, RanksWithOneSecretMeetAtARendezvous) {
  JoinOptions common = options_of(0, 3);
  common.rendezvous = free_address() + "#" + kSecret;
  run_job(3, common, check_sums);
}

// Only one of the two has the secret from the environment.
TEST(JoinKeys, TheSecretOfTheEnvironmentIsUsed) {
  setenv("INFOLD_TOKEN", kSecret, 1);
  JoinOptions first = options_of(0, 2), second = options_of(1, 2);
  first.rendezvous = free_address();
  second.rendezvous = first.rendezvous + "#" + kSecret;
  std::thread beside(sum_up, first);
  sum_up(second);
  beside.join();
  unsetenv("INFOLD_TOKEN");
}

// Rank 0 runs beside the others, and waits for rank 1 until they have been refused.
TEST(JoinKeys, ARendezvousRefusesOthers) {
  const std::string place = free_address();
  JoinOptions first = options_of(0, 2), second = options_of(1, 2);
  first.rendezvous = second.rendezvous = place + "#" + kSecret;
  std::thread beside(sum_up, first);
  const std::string without = error_at(place);
  EXPECT_THAT(without, HasSubstr("uses keys"));
  const std::string other = error_at(place + "#another-secret-of-ranks");
  EXPECT_THAT(other, HasSubstr("certificate"));
  EXPECT_THAT(without + other, Not(HasSubstr("secret-of")));
  sum_up(second);
  beside.join();
}

TEST(JoinKeys, ASwitchTakesRanksWithItsTokens) {
  const KeyedSwitch own, other;
  const std::string string = own.join_string();
  EXPECT_THAT(join_with({string, string}), ::testing::Each(""));
  const std::string token = string.substr(string.rfind('.') + 1);
  const std::string wrong = keys::text_of({.place = own.server->join_address().text(),
                                           .fingerprint = other.identity.fingerprint(),
                                           .token = token});
  const std::vector<std::string> errors = join_with({wrong});
  EXPECT_THAT(errors.front(), HasSubstr(own.identity.fingerprint().text()));
  EXPECT_THAT(errors.front(), Not(HasSubstr(token)));
}

// Tokens of the parent and of both racks differ.
TEST(JoinKeys, RacksJoinTheirParentWithTokensOfTheirOwn) {
  const KeyedSwitch parent;
  const std::string for_racks = parent.join_string({.id = 7, .speaks_for_ranks = true});
  const KeyedSwitch a(for_racks), b(for_racks);
  EXPECT_THAT(join_with({a.join_string(), a.join_string(), b.join_string()}), ::testing::Each(""));
}

TEST(JoinKeys, ARackNeedsATokenForRacks) {
  const KeyedSwitch parent;
  const KeyedSwitch rack(parent.join_string({.id = 7}));
  const std::vector<std::string> errors = join_with({rack.join_string()});
  EXPECT_THAT(errors.front(), HasSubstr("--rack"));
}

}  // namespace
}  // namespace infold::testing
