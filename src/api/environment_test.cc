// SPDX-License-Identifier: Apache-2.0
//
// Tests what the environment of a process adds to the options of joining.

#include "api/environment.h"

#include <cstdlib>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "io/host/log.h"

namespace infold::testing {
namespace {

using ::testing::HasSubstr;

TEST(Environment, SaysWhetherMemoryIsShared) {
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  const auto completed = [&given] { return api::complete_from_environment(given); };
  EXPECT_EQ(completed()->shared_memory, SharedMemory::automatic);
  setenv("INFOLD_SHARED_MEMORY", "off", 1);
  setenv("INFOLD_HOST", "left", 1);
  EXPECT_EQ(completed()->shared_memory, SharedMemory::off);
  EXPECT_EQ(completed()->host, "left");
  setenv("INFOLD_SHARED_MEMORY", "always", 1);
  EXPECT_EQ(completed()->shared_memory, SharedMemory::always);
  given.shared_memory = SharedMemory::off;
  EXPECT_EQ(completed()->shared_memory, SharedMemory::off) << "what the caller says counts";
  given.shared_memory = SharedMemory::automatic;
  setenv("INFOLD_SHARED_MEMORY", "yes", 1);
  EXPECT_THAT(completed().error().message,
              HasSubstr("INFOLD_SHARED_MEMORY is 'yes'; allowed: auto, off and always"));
  unsetenv("INFOLD_SHARED_MEMORY");
  unsetenv("INFOLD_HOST");
}

TEST(Environment, SaysWhereTensorsAreSummed) {
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  given.switches = {"a:1"};
  given.sites = Sites::automatic;
  const auto completed = [&given] { return api::complete_from_environment(given); };
  EXPECT_THAT(completed().error().message,
              HasSubstr("JoinOptions.rendezvous is set beside switches"));
  const std::pair<const char*, Sites> named[] = {
      {"mixed", Sites::mixed}, {"workers", Sites::workers}, {"switches", Sites::switches}};
  for (const auto& [name, sites] : named) {
    setenv("INFOLD_SITES", name, 1);
    EXPECT_EQ(completed()->sites, sites) << name;
  }
  setenv("INFOLD_SITES", "mixed", 1);
  given.sites = Sites::switches;
  EXPECT_EQ(completed()->sites, Sites::switches) << "what the caller says counts";
  given.sites = Sites::automatic;
  setenv("INFOLD_SITES", "nowhere", 1);
  EXPECT_THAT(completed().error().message,
              HasSubstr("INFOLD_SITES is 'nowhere'; allowed: automatic, switches, workers and"));
  unsetenv("INFOLD_SITES");
}

// In the past only the last rank's join ended the wait of all others.
TEST(Environment, SaysHowManyRanksCanSumWithoutASwitch) {
  JoinOptions given = options_of(0, 64);
  given.sites = Sites::workers;
  given.rendezvous = "10.0.0.9:1";
  EXPECT_TRUE(api::complete_from_environment(given).has_value());
  given.world = 65;
  EXPECT_THAT(api::complete_from_environment(given).error().message,
              HasSubstr("JoinOptions.world is 65; without a switch it is at most 64, because"));
  given.sites = Sites::automatic;
  EXPECT_FALSE(api::complete_from_environment(given).has_value());
  given.rendezvous.clear();
  given.switches = {"10.0.0.9:1"};
  EXPECT_TRUE(api::complete_from_environment(given).has_value()) << "a switch sums";
}

TEST(Environment, SaysThatWorkersAskNoSwitch) {
  JoinOptions given = options_of(0, 2);
  given.sites = Sites::workers;
  const auto message = [&given] { return api::complete_from_environment(given).error().message; };
  EXPECT_THAT(message(), HasSubstr("no switch and no address to meet at"));
  given.switches = {"a:1"};
  EXPECT_THAT(message(), HasSubstr("sites is workers, so the ranks do not use the switches"));
  given.switches.clear();
  setenv("INFOLD_SWITCHES", "a:1", 1);
  EXPECT_THAT(message(), HasSubstr("sites is workers, so the ranks do not use the switches"));
  unsetenv("INFOLD_SWITCHES");
}

// The message names the variable that holds the address, because nobody typed it here.
TEST(Environment, NamesTheSourceOfABadAddress) {
  JoinOptions given = options_of(0, 2);
  const auto message = [&given] { return api::complete_from_environment(given).error().message; };
  setenv("INFOLD_SWITCHES", "a:1,http://b:1", 1);
  EXPECT_THAT(message(), HasSubstr("INFOLD_SWITCHES: 'http://b:1' is a URL; write HOST:PORT"));
  given.switches = {"a"};
  EXPECT_THAT(message(), HasSubstr("JoinOptions.switches: 'a' has no port; write HOST:PORT"));
  unsetenv("INFOLD_SWITCHES");
  given.switches.clear();
  setenv("INFOLD_RENDEZVOUS", "a:70000", 1);
  EXPECT_THAT(message(), HasSubstr("INFOLD_RENDEZVOUS: 'a:70000' has a port outside 0 to 65535"));
  given.rendezvous = "fd00::1:1";
  EXPECT_THAT(message(), HasSubstr("JoinOptions.rendezvous: 'fd00::1:1' is an IPv6 address"));
  unsetenv("INFOLD_RENDEZVOUS");
}

TEST(Environment, RefusesPlacesThatContradict) {
  JoinOptions given = options_of(0, 2);
  const auto message = [&given] { return api::complete_from_environment(given).error().message; };
  given.switches = {"a:1", "b:1", "a:1"};
  EXPECT_THAT(message(), HasSubstr("JoinOptions.switches names a:1 twice"));
  given.switches.pop_back();
  EXPECT_TRUE(api::complete_from_environment(given).has_value());
}

TEST(Environment, HasTheSecretOfARendezvous) {
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  const auto completed = [&given] { return api::complete_from_environment(given); };
  setenv("INFOLD_TOKEN", "a-secret-of-all-ranks", 1);
  EXPECT_EQ(completed()->rendezvous, "10.0.0.9:1#a-secret-of-all-ranks");
  given.use_environment = false;
  EXPECT_EQ(completed()->rendezvous, "10.0.0.9:1");
  given.use_environment = true;
  setenv("INFOLD_TOKEN", "short-secret", 1);
  EXPECT_EQ(completed().error().message,
            "join: INFOLD_TOKEN: the secret is too short; allowed: 16 to 1024 characters");
  given.rendezvous = "10.0.0.9:1#the-caller-s-own-secret";
  EXPECT_EQ(completed()->rendezvous, given.rendezvous) << "what the caller says counts";
  given.rendezvous = "10.0.0.9:1#short";
  EXPECT_THAT(completed().error().message, HasSubstr("JoinOptions.rendezvous: the secret is too"));
  unsetenv("INFOLD_TOKEN");
}

// This also holds for programs that read the rest themselves, because the log is not an option.
TEST(Environment, SaysWhatIsLogged) {
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  given.use_environment = false;
  EXPECT_FALSE(io::process_log().takes(status::LogLevel::debug));
  setenv("INFOLD_LOG", "debug,json", 1);
  EXPECT_TRUE(api::complete_from_environment(given).has_value());
  EXPECT_TRUE(io::process_log().takes(status::LogLevel::debug));
  setenv("INFOLD_LOG", "loud", 1);
  EXPECT_THAT(api::complete_from_environment(given).error().message,
              HasSubstr("INFOLD_LOG is 'loud'; allowed: off, error, warn, info or debug"));
  unsetenv("INFOLD_LOG");
  io::set_log({});
}

TEST(Environment, SaysHowManyDriversAndWhoSharesTheProcessors) {
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  const auto completed = [&given] { return api::complete_from_environment(given); };
  EXPECT_EQ(completed()->drivers, 0);
  EXPECT_EQ(completed()->local_world, 1);
  setenv("SLURM_NTASKS_PER_NODE", "4(x2)", 1);
  EXPECT_EQ(completed()->local_world, 1) << "a word that is not a number says nothing";
  setenv("LOCAL_WORLD_SIZE", "8", 1);
  setenv("INFOLD_DRIVERS", "3", 1);
  EXPECT_EQ(completed()->local_world, 8);
  EXPECT_EQ(completed()->drivers, 3);
  setenv("INFOLD_DRIVERS", "65", 1);
  EXPECT_THAT(completed().error().message, HasSubstr("INFOLD_DRIVERS is '65'; allowed: 0 to 64"));
  given.drivers = 2;
  EXPECT_EQ(completed()->drivers, 2) << "what the caller says counts";
  given.drivers = 65;
  EXPECT_THAT(completed().error().message, HasSubstr("drivers is 65; allowed: 0 to 64"));
  for (const char* name : {"SLURM_NTASKS_PER_NODE", "LOCAL_WORLD_SIZE", "INFOLD_DRIVERS"}) {
    unsetenv(name);
  }
}

TEST(Environment, IsLeftAloneByProgramsThatHaveReadIt) {
  setenv("INFOLD_SHARED_MEMORY", "off", 1);
  setenv("INFOLD_VERIFY", "1", 1);
  setenv("INFOLD_REJOIN", "0", 1);
  setenv("INFOLD_ADDRESS", "10.9.9.9", 1);
  setenv("INFOLD_SWITCHES", "a:1", 1);
  setenv("INFOLD_SITES", "switches", 1);
  JoinOptions given = options_of(0, 2);
  given.rendezvous = "10.0.0.9:1";
  given.use_environment = false;
  const auto settled = api::complete_from_environment(given);
  ASSERT_TRUE(settled.has_value()) << settled.error().message;
  EXPECT_EQ(settled->shared_memory, SharedMemory::automatic);
  EXPECT_FALSE(settled->verify);
  EXPECT_TRUE(settled->rejoin);
  EXPECT_EQ(settled->address, "");
  EXPECT_EQ(settled->sites, Sites::workers);
  for (const char* name : {"INFOLD_SHARED_MEMORY", "INFOLD_VERIFY", "INFOLD_REJOIN",
                           "INFOLD_ADDRESS", "INFOLD_SWITCHES", "INFOLD_SITES"}) {
    unsetenv(name);
  }
}

TEST(Environment, TakesLaunchersNames) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "8", 1);
  setenv("MASTER_ADDR", "10.0.0.9", 1);
  setenv("MASTER_PORT", "29500", 1);
  const auto options = api::complete_from_environment({});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->world, 8);
  EXPECT_EQ(options->rendezvous, "10.0.0.9:29501");
  EXPECT_EQ(options->sites, Sites::workers);
  setenv("INFOLD_SWITCHES", "a:1,b:2", 1);
  setenv("INFOLD_RANK", "9", 1);
  const auto outside = api::complete_from_environment({});
  ASSERT_FALSE(outside.has_value());
  EXPECT_THAT(outside.error().message, HasSubstr("the rank is 9, but the number of ranks is 8"));
  setenv("INFOLD_RANK", "x", 1);
  EXPECT_THAT(api::complete_from_environment({}).error().message,
              HasSubstr("INFOLD_RANK is 'x'; allowed: 0 to 1023"));
  for (const char* name :
       {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "INFOLD_SWITCHES", "INFOLD_RANK"}) {
    unsetenv(name);
  }
  EXPECT_THAT(api::complete_from_environment({}).error().message, HasSubstr("no rank"));
  EXPECT_THAT(api::complete_from_environment({.rank = 0}).error().message,
              HasSubstr("no number of ranks: set JoinOptions.world or INFOLD_WORLD"));
}

}  // namespace
}  // namespace infold::testing
