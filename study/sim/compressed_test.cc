// SPDX-License-Identifier: Apache-2.0
//
// Compressed means. Every method whose legs travel is drawn and has the right mean on a bad
// network. The checkers notice a wrong mean, and failed calls do not change any tensor.
#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "compress/choice.h"
#include "compress/round_table.h"
#include "study/sim/scenario/compressed_call.h"
#include "study/sim/scenario/draw.h"
#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

using compress::Travel;

constexpr std::uint64_t kSides = 60;
constexpr std::uint64_t kElements = kSides * kSides;

Outcome expect_passed(const Scenario& scenario) {
  Outcome outcome = run(scenario);
  for (const std::string& wrong : outcome.wrong) {
    ADD_FAILURE() << wrong << "\n" << describe(scenario);
  }
  return outcome;
}

CompressionPlan plan_of_method(const std::string& method) {
  CompressionPlan plan{.method = method, .settings = {}, .sides = {kSides, kSides}};
  if (method == "shared" || method == "thc") plan.settings = {{"block", 256}};
  if (method == "scaledsign") plan.settings = {{"bucket", 100}};
  if (method == "randomk") plan.settings = {{"ratio", 0.3}};
  return plan;
}

CallPlan call_of_method(const std::string& method) {
  return compressed_mean(plan_of_method(method), kElements, 21);
}

// The network loses a fifth of the packets. One call comes before this one, and two after it.
Scenario scenario_of(const std::string& name, const CallPlan& call, std::uint64_t seed) {
  NamedOptions options;
  options.workers = 7;
  options.elements = 2'000;
  options.loss = 0.2;
  Scenario scenario = *named_scenario(name, seed, options);
  scenario.calls.insert(scenario.calls.begin() + 1, call);
  scenario.calls.back().after_previous = true;
  return scenario;
}

std::vector<std::uint16_t> ranks_of(std::uint16_t world) {
  std::vector<std::uint16_t> ranks(world);
  for (std::uint16_t rank = 0; rank < world; ++rank) ranks[rank] = rank;
  return ranks;
}

std::vector<Travel> travels_of(const CallPlan& call) {
  CompressedCall compressed(call, ranks_of(2));
  std::vector<Travel> travels;
  for (std::uint32_t leg = 0; leg < compressed.leg_count(); ++leg) {
    travels.push_back(compressed.travel_of(leg));
  }
  return travels;
}

// Returns, for each method, how many calls of the first seeds it compresses.
std::map<std::string, int> methods_drawn(std::uint64_t seeds) {
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const CallPlan& call : draw_scenario(seed).calls) {
      if (call.compression) ++drawn[call.compression->method];
    }
  }
  return drawn;
}

// If somebody adds a built-in method, it must be drawn unless it gathers.
TEST(Compressed, EveryMethodIsDrawnWhoseLegsTravel) {
  const std::map<std::string, int> drawn = methods_drawn(1'000);
  const std::vector<float> tensor(kElements, 1.0F);
  for (const compress::Method& method : compress::built_in_methods()) {
    const auto choice = compress::CompressionChoice::make({.method = method.name});
    ASSERT_TRUE(choice.has_value()) << method.name;
    const auto compressor = *choice->make_compressor({kElements, {kSides, kSides}}, 2);
    const Travel travel = compressor->begin(tensor, {.world = 2}).travel;
    const bool travels = travel != Travel::gather && travel != Travel::rows;
    // Signum is signsgd with a memory.
    const int least = travels && method.name != "signum" ? 10 : 0;
    const auto found = drawn.find(method.name);
    EXPECT_GE(found == drawn.end() ? 0 : found->second, least) << method.name;
  }
}

TEST(Compressed, LegsTravelAsTheMethodSays) {
  using Travels = std::vector<Travel>;
  EXPECT_EQ(travels_of(call_of_method("shared")), (Travels{Travel::maxima, Travel::lanes}));
  EXPECT_EQ(travels_of(call_of_method("scaledsign")), (Travels{Travel::floats, Travel::lanes}));
  EXPECT_EQ(travels_of(call_of_method("powersgd")), (Travels{Travel::floats, Travel::floats}));
  EXPECT_EQ(travels_of(call_of_method("signsgd")), (Travels{Travel::lanes}));
}

class Method : public testing::TestWithParam<const char*> {};

TEST_P(Method, HasTheRightMeanWhereAFifthOfThePacketsIsLost) {
  for (const char* const name : {"tree", "stripe", "mixed"}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CallPlan call = call_of_method(GetParam());
      call.in_place = seed % 2 == 0;
      call.sized_by_previous = seed > 2;
      call.offset_bytes = static_cast<std::uint32_t>(3 * seed);
      const Scenario scenario = scenario_of(name, call, seed);
      EXPECT_EQ(expect_passed(scenario).hash, run(scenario).hash);
    }
  }
}

// Includes special numbers, and sums that overflow.
TEST_P(Method, HasTheRightMeanOfAllKindsOfValues) {
  for (std::uint8_t kind = 0; kind < static_cast<std::uint8_t>(oracle::ValueKind::count_); ++kind) {
    CallPlan call = call_of_method(GetParam());
    call.values.kind = static_cast<oracle::ValueKind>(kind);
    expect_passed(scenario_of("tree", call, kind + 1U));
  }
}

// Some sites do not sum floats exactly. Numbers are then rounded, in the same way at all ranks.
TEST_P(Method, HasTheRightMeanWhereFloatsTravelInBlocks) {
  CallPlan call = call_of_method(GetParam());
  call.layout.format = core::WireFormat::bfp32;
  expect_passed(scenario_of("tree", call, 2));
}

// The round table adds up legs with its own code, whose sums are exact in long doubles.
TEST_P(Method, HasTheMeanOfTheRoundTable) {
  CallPlan call = call_of_method(GetParam());
  call.values.kind = oracle::ValueKind::smooth;
  const std::uint16_t world = 5;
  const CompressedCall compressed(call, ranks_of(world));
  const auto choice = compress::CompressionChoice::make(
      {.method = call.compression->method, .settings = call.compression->settings});
  ASSERT_TRUE(choice.has_value());
  compress::RoundTable::Compressors ranks;
  std::vector<std::vector<float>> tensors;
  for (std::uint16_t rank = 0; rank < world; ++rank) {
    ranks.push_back(*choice->make_compressor({kElements, call.compression->sides}, world));
    tensors.emplace_back(kElements);
    oracle::fill_values(call.values, rank, std::as_writable_bytes(std::span(tensors.back())));
  }
  compress::RoundTable table(std::move(ranks));
  ASSERT_TRUE(table.meet(tensors, compressed.turn_of(0)));
  EXPECT_TRUE(std::ranges::equal(table.mean_of(world - 1), compressed.expected_mean()));
}

TEST_P(Method, HasNoWrongMeanWhereOneRankErrsOrLeaves) {
  using Kind = Incident::Kind;
  for (const Kind kind : {Kind::wrong_size, Kind::never_calls, Kind::cancels, Kind::leaves}) {
    for (std::int64_t after : {5, 60, 200}) {
      Scenario scenario = scenario_of("tree", call_of_method(GetParam()), 3);
      scenario.incident = {.kind = kind, .rank = 2, .call = 1, .after = base::microseconds(after)};
      for (CallPlan& call : scenario.calls) call.deadline = base::seconds(2);
      expect_passed(scenario);
    }
  }
}

// A checker that never fails would be useless.
TEST_P(Method, AWrongMeanIsSeen) {
  Scenario scenario = scenario_of("clean", call_of_method(GetParam()), 1);
  scenario.up.loss = scenario.down.loss = 0;
  Simulation simulation(scenario);
  ASSERT_TRUE(simulation.run().passed());
  const auto last = std::ranges::find_if(simulation.job().steps(), [](const Job::Step& step) {
    return step.call == 1 && !step.agrees;
  });
  ASSERT_EQ(simulation.job().compare(*last), "");
  const auto mean = simulation.job().result(1, 2);
  const_cast<std::byte&>(mean[17]) ^= std::byte{1};
  EXPECT_NE(simulation.job().compare(*last), "");
}

TEST_P(Method, AWrongAnswerIsSeen) {
  CompressedCall call(call_of_method(GetParam()), ranks_of(1));
  core::TransferRequest request = call.request_of(0, 0);
  // With one rank the answer is what the rank sent, except for the bits of NaNs, and there are
  // none.
  std::copy_n(request.input, request.elements * sizeof(float), request.output);
  request.output[2] ^= std::byte{1};
  call.end_leg(0, 0);
  EXPECT_NE(call.compare(0), "");
}

INSTANTIATE_TEST_SUITE_P(All, Method,
                         testing::Values("none", "shared", "thc", "scaledsign", "signsgd",
                                         "randomk", "powersgd", "countsketch"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace infold::sim
