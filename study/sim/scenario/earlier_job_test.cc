// SPDX-License-Identifier: Apache-2.0
//
// A job number returns. The next job must not take any packet of the earlier job, however that one
// ended.
#include <gtest/gtest.h>

#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

Scenario again(std::uint64_t seed, std::uint32_t depth) {
  NamedOptions options;
  options.elements = 3'000;
  options.depth = depth;
  options.loss = 0.05;
  options.reorder = 0.2;
  return *named_scenario("again", seed, options);
}

std::uint64_t stale_packets(const Outcome& outcome) {
  return outcome.verdicts[static_cast<std::size_t>(core::Verdict::dropped_stale_epoch)];
}

TEST(EarlierJob, NothingOfItIsTaken) {
  for (const auto end : {Incident::Kind::none, Incident::Kind::cancels, Incident::Kind::leaves}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Scenario scenario = again(seed, 1 + seed % 2);
      scenario.earlier->end = end;
      const Outcome outcome = run(scenario);
      for (const std::string& wrong : outcome.wrong) ADD_FAILURE() << wrong << describe(scenario);
      EXPECT_GT(stale_packets(outcome), 0U) << describe(scenario);
      EXPECT_GT(outcome.workers.dropped_foreign, 0U) << describe(scenario);
    }
  }
}

// If the checkers also passed these packets with the same epoch, the test above would prove
// nothing. The join server must prevent that both number and epoch return.
TEST(EarlierJob, TheCheckersNoticeAnEpochThatReturns) {
  std::uint64_t noticed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario scenario = again(seed, 1);
    scenario.earlier->end = Incident::Kind::none;
    scenario.earlier->epoch = scenario.epoch;
    noticed += run(scenario).passed() ? 0 : 1;
  }
  EXPECT_GE(noticed, 15U);
}

}  // namespace
}  // namespace infold::sim
