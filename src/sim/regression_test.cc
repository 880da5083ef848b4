// SPDX-License-Identifier: Apache-2.0
//
// What the swarm once found, each as the smallest scenario that shows it. Seeds of drawn scenarios
// do not keep: they change with the drawing.
#include <gtest/gtest.h>

#include "sim/named.h"
#include "sim/simulation.h"

namespace infold::sim {
namespace {

void expect_passed(const Scenario& scenario) {
  const Outcome outcome = run(scenario);
  for (const std::string& wrong : outcome.wrong) {
    ADD_FAILURE() << wrong << "\n" << describe(scenario);
  }
}

Scenario lossy_tree(std::uint64_t seed) {
  NamedOptions options;
  options.elements = 2'000;
  options.loss = 0.15;
  return *named_scenario("tree", seed, options);
}

// an aggregator told its workers of the end and lost the word to its parent; nobody below
// had a reason to ask again, and the other branches waited for ever.
TEST(Regression, TheEndOfAJobReachesAllBranchesOfALossyTree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    const auto kind = seed % 2 == 0 ? Incident::Kind::cancels : Incident::Kind::leaves;
    scenario.incident = {.kind = kind, .rank = 0, .call = 0, .after = base::microseconds(5)};
    expect_passed(scenario);
  }
}

// the parent's confirmation that a rank had left ended the calls of its neighbours, which
// still fetched results that were complete.
TEST(Regression, LeavingATreeTakesNoResultFromOthers) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    scenario.leave_when_done = true;
    expect_passed(scenario);
  }
}

// a rank that disagrees below a lossy tree was heard of only by its own branch.
TEST(Regression, AMismatchIsToldInAllBranchesOfALossyTree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    scenario.incident = {.kind = Incident::Kind::wrong_size, .rank = 3, .call = 1, .after = {}};
    expect_passed(scenario);
  }
}

}  // namespace
}  // namespace infold::sim
