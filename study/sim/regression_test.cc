// SPDX-License-Identifier: Apache-2.0
//
// Faults that the swarm found, each as the smallest scenario that shows it. Seeds of drawn
// scenarios do not last, because they change when the drawing changes.
#include <gtest/gtest.h>

#include "study/sim/scenario/draw.h"
#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

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

// an aggregator told its workers that the job had ended, but its packet to the parent was
// lost. The workers had no reason to ask again, and the other branches waited forever.
TEST(Regression, TheEndOfAJobReachesAllBranchesOfALossyTree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    const auto kind = seed % 2 == 0 ? Incident::Kind::cancels : Incident::Kind::leaves;
    scenario.incident = {.kind = kind, .rank = 0, .call = 0, .after = base::microseconds(5)};
    expect_passed(scenario);
  }
}

// the parent's confirmation that a rank had left ended the calls of its neighbours, although
// the neighbours were still fetching complete results.
TEST(Regression, LeavingATreeTakesNoResultFromOthers) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    scenario.leave_when_done = true;
    expect_passed(scenario);
  }
}

// when a rank's call differed below a lossy tree, only that rank's own branch learned of it.
TEST(Regression, AMismatchReachesAllBranchesOfALossyTree) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Scenario scenario = lossy_tree(seed);
    scenario.incident = {.kind = Incident::Kind::wrong_size, .rank = 3, .call = 1, .after = {}};
    expect_passed(scenario);
  }
}

// After one lost packet a worker sent queries for all chunks in flight. If a queue makes the path
// longer than its minimum, results under way looked like answers to the queries. Each of them
// caused queries for the chunks sent since then. Every result came twice, and the doubled results
// kept the queue long.
TEST(Regression, ALostPacketCausesFewQueries) {
  NamedOptions options;
  options.workers = 4;
  options.elements = 200'000;
  options.bits_per_second = 100'000'000;
  options.round_trip = base::microseconds(100);
  const Outcome clean = run(*named_scenario("clean", 1, options));
  options.loss = 0.001;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Scenario scenario = *named_scenario("loss", seed, options);
    expect_passed(scenario);
    EXPECT_LT(run(scenario).finished_at.ns, clean.finished_at.ns * 21 / 20) << describe(scenario);
  }
}

// A worker doubled its timeout to a second and more, although no packet had come. It also mistook
// the time that others needed to recover from losses for its own path's round trip.
TEST(Regression, ManyLossesDelayASmallTensorByMoments) {
  NamedOptions options;
  options.workers = 4;
  options.elements = 3'000;
  options.loss = 0.2;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Scenario scenario = *named_scenario("loss", seed, options);
    EXPECT_LT(run(scenario).finished_at, base::Instant{} + base::milliseconds(300))
        << describe(scenario);
  }
}

// a worker sent 24 ABORTs at its path's timeout, all within 5 to 240 ms. If a path was
// silent for longer, the others waited until their deadlines and did not learn the reason.
TEST(Regression, TheEndOfAJobOutlastsASilentPath) {
  for (const auto kind : {Incident::Kind::cancels, Incident::Kind::leaves}) {
    for (const char* const name : {"clean", "tree"}) {
      Scenario scenario = *named_scenario(name, 1);
      scenario.up.loss = 1;
      scenario.up.until = base::Instant{} + base::milliseconds(400);
      scenario.incident = {.kind = kind, .rank = 0, .call = 0, .after = base::microseconds(5)};
      for (CallPlan& call : scenario.calls) call.deadline = base::seconds(2);
      expect_passed(scenario);
    }
  }
}

// an aggregator below another one told its ranks that the job had ended, and the ranks
// answered at once. The aggregator passed on all answers, and passed each answer from above to all
// ranks. The number of packets grew with the square of the ranks.
TEST(Regression, TheEndOfAJobCostsPacketsByTheRanksOfATree) {
  constexpr std::uint16_t kRanks = 256;
  NamedOptions options;
  options.workers = kRanks;
  options.depth = 1;
  Scenario scenario = *named_scenario("clean", 1, options);
  scenario.calls = {sum_of_integers(1)};
  scenario.incident = {
      .kind = Incident::Kind::cancels, .rank = 0, .call = 0, .after = base::microseconds(5)};
  expect_passed(scenario);
  EXPECT_LT(run(scenario).network.sent, std::uint64_t{8} * kRanks);
}

// a tensor that is one element shorter may have one chunk less. At another site the others'
// last chunk then meets the first chunk of the next call. The reported field is the one in which
// these two calls differ.
TEST(Regression, AMissingChunkNamesTheFieldOfTheTwoCallsThatMeet) {
  NamedOptions options;
  options.elements = 353;
  options.sites = 2;
  Scenario scenario = *named_scenario("clean", 1, options);
  scenario.plan.elements_max = 352;
  scenario.calls = {sum_of_integers(353), sum_of_floats(core::WireFormat::bfp16, 353)};
  scenario.starts = {{}, base::microseconds(50), {}, {}};
  scenario.incident = {.kind = Incident::Kind::wrong_size, .rank = 1, .call = 0, .after = {}};
  for (CallPlan& call : scenario.calls) call.deadline = base::seconds(2);
  expect_passed(scenario);
}

// Each of these seeds once failed. Some ended at a deadline although the path had been good for
// more than a second. Others named a field that the checker did not expect, or sent too many
// packets. The drawing may change the scenarios. All of them together take 200 ms.
TEST(Regression, SeedsThatEndedWithAnotherReason) {
  constexpr std::uint64_t kSeeds[] = {
      // A worker sent one query a second for lost contributions while other ranks were late.
      733130206, 733150506, 733155416, 912076274, 912085970, 912104603,
      // All ABORTs were lost, and the worker stopped sending them.
      733157915, 912021556, 912061966, 912092633, 912098136, 912119435,
      // All chunks in flight were confirmed, and the results of some were lost.
      2000355493,
      // In a tree, a worker mistook answers to others' queries about a late rank for answers to its
      // own.
      2000362101, 2000364659,
      // In a tree, a worker mistook the number of the branch that completed a result for its own.
      2100085315, 2100087473,
      // 58 ranks at a leaf told the leaf at once that the job had ended. Each answer from above
      // went to all of them, and the network ran out of packets.
      2000223903,
      // The first answers came late, and all chunks in flight were lost. The worker had no sign
      // that the path was short, so it queried each chunk only after the timeout of the previous
      // one.
      2100440673,
      // Four ranks were below chains of aggregators, for two seconds. The checker did not count the
      // packets that the aggregators pass on.
      2100775371, 2100796569, 2100731255,
      // 64 ranks were below 13 or 17 aggregators. The root's answer to one repeat, or to one ABORT,
      // went to all ranks below.
      2100896712, 2101666786,
      // Queries were sent only for the oldest chunks of a stream. A late call named a rank that had
      // been missing for a younger chunk two seconds before.
      2100671252,
      // A tensor had one chunk less, so the fields of two calls were compared.
      912121521,
      // Each result caused queries for all chunks in flight, on a path whose queue made the round
      // trip longer than every sample. The network ran out of packets.
      2000129384, 2000147456, 2000174343,
      // Each part of a repeated exact sum was answered with all parts of the sum above, so that one
      // question cost the product of the parts of all levels.
      1450117236, 1450005634, 1450138936, 1450533368, 1450575959,
      // A queue made the round trip forty times as long as every sample, and each result ended the
      // backoff. A rank asked for one chunk five times in 10 ms. The network ran out of packets.
      1450048874};
  for (const std::uint64_t seed : kSeeds) expect_passed(draw_scenario(seed));
}

// In a large job most chunks wait for some rank's repeat. Workers mistook these waits for the
// path's, and asked about a lost result only after seconds. The fix reduced 1.8 s to 11 ms.
TEST(Regression, ManyRanksThatLosePacketsKeepTheirTimeouts) {
  NamedOptions options;
  options.workers = 180;
  options.elements = 100'000;
  options.loss = 0.01;
  Scenario scenario = *named_scenario("loss", 1, options);
  scenario.link.bits_per_second = 10'000'000'000;
  const Outcome outcome = run(scenario);
  EXPECT_TRUE(outcome.wrong.empty());
  EXPECT_LT((outcome.finished_at - base::Instant{}).ns, base::milliseconds(200).ns);
}

// an aggregator sent the parts of an exact sum in the same order each time. A queue that
// held fewer of them dropped the same ones forever.
TEST(Regression, PartsOfAnExactSumPassAShortQueue) {
  NamedOptions options;
  options.workers = 16;
  options.loss = 0;
  Scenario scenario = *named_scenario("tree", 1, options);
  CallPlan call;
  call.layout = {core::WireFormat::native, core::DataType::f64};
  call.elements = 124;
  call.values = {core::DataType::f64, oracle::ValueKind::apart, 1};
  scenario.calls = {call};
  scenario.plan.datagram_bytes_max = 4000;
  scenario.link.queue_bytes_max = 20'000;
  expect_passed(scenario);
}

}  // namespace
}  // namespace infold::sim
