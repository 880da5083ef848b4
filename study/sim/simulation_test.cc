// SPDX-License-Identifier: Apache-2.0
//
// Tests whole runs: the same seed gives the same run, all named scenarios pass with every format,
// and the checkers find planted faults.
#include "study/sim/simulation.h"

#include <gtest/gtest.h>

#include "study/sim/scenario/draw.h"
#include "study/sim/scenario/named.h"

namespace infold::sim {
namespace {

// Prints a failed run's faults and the command that repeats the run.
void expect_passed(const Outcome& outcome, const Scenario& scenario) {
  for (const std::string& wrong : outcome.wrong) {
    ADD_FAILURE() << wrong << "\n  repeat with: infold sim --seed " << scenario.seed << "\n"
                  << describe(scenario);
  }
}

TEST(Simulation, TheSameSeedIsTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Outcome first = run(draw_scenario(seed));
    const Outcome second = run(draw_scenario(seed));
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_EQ(first.finished_at, second.finished_at) << "seed " << seed;
    EXPECT_NE(first.hash, run(draw_scenario(seed + 1000)).hash) << "seed " << seed;
  }
}

TEST(Simulation, DrawnScenariosPass) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    expect_passed(run(scenario), scenario);
  }
}

class Named : public testing::TestWithParam<NamedScenario> {};

TEST_P(Named, PassesTwiceAlikeInEveryFormat) {
  for (const char* format : {"i32", "bfp8", "bfp16", "bfp32", "agreed", "digits", "compressed"}) {
    NamedOptions options;
    options.format = format;
    options.elements = 20'000;
    const Scenario scenario = *named_scenario(GetParam().name, 3, options);
    const Outcome outcome = run(scenario);
    expect_passed(outcome, scenario);
    EXPECT_EQ(outcome.hash, run(scenario).hash) << format;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Named, testing::ValuesIn(scenario_names()),
                         [](const auto& each) { return std::string(each.param.name); });

// Runs a few jobs with the largest number of direct workers. In a swarm such jobs would take too
// long.
TEST(Simulation, TwoHundredAndFiftySixDirectWorkers) {
  NamedOptions options;
  options.workers = 256;
  options.elements = 2'000;
  for (const char* format : {"i32", "bfp32"}) {
    options.format = format;
    const Scenario scenario = *named_scenario("loss", 5, options);
    expect_passed(run(scenario), scenario);
  }
}

// There are more ranks than one aggregator takes, in every kind of format that so many can use.
TEST(Simulation, MoreRanksThanAnAggregatorTakesBelowRacks) {
  for (const std::uint16_t ranks : {std::uint16_t{300}, std::uint16_t{600}}) {
    for (const char* format : {"i32", "native", "bfp32", "bfp16", "bfp8", "compressed"}) {
      NamedOptions options;
      options.workers = ranks;
      options.fan_out = 16;
      options.elements = 1'500;
      options.loss = 0.001;
      options.format = format;
      ASSERT_EQ(reason_against("tree", options), "");
      const Scenario scenario = *named_scenario("tree", ranks, options);
      ASSERT_EQ(scenario.plan.world, ranks);
      ASSERT_FALSE(scenario.calls[1].bulk);
      expect_passed(run(scenario), scenario);
    }
  }
}

TEST(NamedScenario, FormatsThatCountRanksEndAt511) {
  NamedOptions options;
  options.fan_out = 16;
  for (const char* format : {"digits", "agreed"}) {
    options.format = format;
    options.workers = 511;
    EXPECT_EQ(reason_against("tree", options), "");
    options.workers = 512;
    EXPECT_NE(reason_against("tree", options).find("511 ranks at most; choose native or bfp32"),
              std::string::npos);
  }
}

// Racks of 31 or 32 ranks are below a spine.
TEST(Simulation, AThousandRanksBelowRacks) {
  NamedOptions options;
  options.workers = 1'000;
  options.fan_out = 32;
  options.elements = 4'000;
  for (const bool bulk : {false, true}) {
    options.bulk = bulk;
    options.loss = bulk ? 0 : 0.001;
    const Scenario scenario = *named_scenario("tree", 5, options);
    ASSERT_EQ(scenario.plan.trees[0].aggregators.size(), 33U);
    ASSERT_EQ(scenario.calls[1].bulk, bulk);
    expect_passed(run(scenario), scenario);
  }
}

TEST(NamedScenario, HasAReasonAgainstWhatDoesNotFit) {
  EXPECT_EQ(reason_against("clean", {.workers = 256, .round_trip = {}, .format = {}}), "");
  EXPECT_EQ(reason_against("clean", {.workers = 257, .round_trip = {}, .format = {}}),
            "an aggregator would have 257 children, and takes 256");
  EXPECT_EQ(reason_against("tree", {.workers = 512, .round_trip = {}, .format = {}}), "");
  EXPECT_NE(reason_against("tree", {.workers = 514, .round_trip = {}, .format = {}}), "");
  // 1 + 128 + 4,096 aggregators at each of four sites.
  NamedOptions wide{.workers = 4'096, .sites = 4, .depth = 3, .round_trip = {}, .format = {}};
  wide.fan_out = 128;
  EXPECT_NE(reason_against("tree", wide).find("ranks and aggregators"), std::string::npos);
  NamedOptions large{.workers = 256, .elements = 100'000'000, .round_trip = {}, .format = {}};
  EXPECT_NE(reason_against("clean", large).find("elements"), std::string::npos);
  large.bulk = true;
  EXPECT_EQ(reason_against("clean", large), "");
}

// In the past such a run ended the process, and with it the whole swarm. On these links a packet
// takes many seconds, so that repeats pile up.
TEST(Simulation, ARunThatExhaustsThePacketsFailsAndReturns) {
  Scenario scenario =
      *named_scenario("clean", 1, {.elements = 10'000, .round_trip = {}, .format = {}});
  scenario.link = {.bits_per_second = 1'000,
                   .delay = base::microseconds(10),
                   .queue_bytes_max = std::int64_t{1} << 26};
  scenario.host_queue_bytes = 0;
  scenario.liveness = base::seconds(10'000);
  const Outcome outcome = run(scenario);
  ASSERT_EQ(outcome.wrong.size(), 1U);
  EXPECT_NE(outcome.wrong[0].find(" packets were under way at "), std::string::npos)
      << outcome.wrong[0];
  EXPECT_EQ(outcome.hash, run(scenario).hash);
}

// A checker that never fails would be useless. Here the results are compared with another seed's
// oracle.
TEST(Simulation, AWrongResultIsSeen) {
  Scenario scenario =
      *named_scenario("clean", 1, {.elements = 1'000, .round_trip = {}, .format = {}});
  Simulation simulation(scenario);
  ASSERT_TRUE(simulation.run().passed());
  auto result = simulation.job().result(1, 2);
  const_cast<std::byte&>(result[17]) ^= std::byte{1};
  EXPECT_NE(simulation.job().compare({.call = 1, .agrees = false}), "");
  EXPECT_EQ(simulation.job().compare({.call = 0, .agrees = false}), "");
}

}  // namespace
}  // namespace infold::sim
