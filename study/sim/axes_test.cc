// SPDX-License-Identifier: Apache-2.0
//
// The bits of a result depend only on the contributed values (spec section 9). Each test changes
// one thing that is not a value, and must find 0 differing bits. The tests run for every wire
// format, and for values that are ordinary, far apart or special.
#include <algorithm>
#include <bit>
#include <numeric>

#include <gtest/gtest.h>

#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

using core::DataType;
using core::Reduction;
using core::WireFormat;

constexpr std::uint16_t kWorld = 8;
constexpr std::uint64_t kElements = 1'181;  // a few chunks, with an incomplete last block

struct Wire {
  const char* name;
  core::ElementLayout layout;
  Reduction reduction = Reduction::sum;
  bool agreed = false;
  bool digits = false;
};

constexpr Wire kWires[] = {
    {"i8", {WireFormat::i8, DataType::i8}},
    {"u8_min", {WireFormat::i8, DataType::u8}, Reduction::min},
    {"i32", {WireFormat::i32, DataType::i32}},
    {"i32_average", {WireFormat::i32, DataType::i32}, Reduction::average},
    {"i64_max", {WireFormat::i64, DataType::i64}, Reduction::max},
    {"i32_or", {WireFormat::i32, DataType::i32}, Reduction::bit_or},
    {"f32_min", {WireFormat::i32, DataType::f32}, Reduction::min},
    {"f32_bfp32", {WireFormat::bfp32, DataType::f32}},
    {"f32_bfp16_average", {WireFormat::bfp16, DataType::f32}, Reduction::average},
    {"f32_bfp8", {WireFormat::bfp8, DataType::f32}},
    {"f16_bfp16", {WireFormat::bfp16, DataType::f16}},
    {"bf16_bfp8", {WireFormat::bfp8, DataType::bf16}},
    {"f64_bfp32", {WireFormat::bfp32, DataType::f64}},
    {"f32_native", {WireFormat::native, DataType::f32}},
    {"f16_native_average", {WireFormat::native, DataType::f16}, Reduction::average},
    {"bf16_native", {WireFormat::native, DataType::bf16}},
    {"f64_native_average", {WireFormat::native, DataType::f64}, Reduction::average},
    {"f32_agreed", {WireFormat::i32, DataType::f32}, Reduction::sum, true},
    {"f32_digits", {WireFormat::i32, DataType::f32}, Reduction::sum, false, true},
    {"f64_digits_average", {WireFormat::i32, DataType::f64}, Reduction::average, false, true},
};

class Axes : public testing::TestWithParam<std::tuple<Wire, oracle::ValueKind>> {
 protected:
  static Scenario base_scenario() {
    const auto& [wire, kind] = GetParam();
    Scenario scenario;
    scenario.name = "axes";
    scenario.plan.world = kWorld;
    scenario.plan.trees = {plan::even_tree(kWorld, 1, 1)};
    CallPlan call;
    call.layout = wire.layout;
    call.reduction = wire.reduction;
    call.agreed = wire.agreed;
    call.digits = wire.digits;
    call.elements = kElements;
    call.values = {.dtype = wire.layout.dtype, .kind = kind, .seed = 42};
    scenario.calls = {call};
    return scenario;
  }

  // Returns the last call's result, which must be the same at every rank and which the oracle has
  // checked.
  static std::vector<std::byte> bits(const Scenario& scenario) {
    Simulation simulation(scenario);
    const Outcome outcome = simulation.run();
    EXPECT_TRUE(outcome.passed()) << outcome.wrong.front();
    const auto call = static_cast<std::uint32_t>(scenario.calls.size()) - 1;
    const auto result = simulation.job().result(call, 0);
    for (std::uint16_t rank = 1; rank < scenario.plan.world; ++rank) {
      EXPECT_TRUE(std::ranges::equal(result, simulation.job().result(call, rank)));
    }
    return {result.begin(), result.end()};
  }

  static void expect_same_bits(const Scenario& changed, const char* axis) {
    std::vector<std::byte> expected = bits(base_scenario());
    const std::vector<std::byte> got = bits(changed);
    expected.resize(std::min(expected.size(), got.size()));
    ASSERT_EQ(got.size(), expected.size());
    int differing = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      differing += std::popcount(std::to_integer<unsigned>(got[i] ^ expected[i]));
    }
    EXPECT_EQ(differing, 0) << axis;
  }
};

TEST_P(Axes, Run) { expect_same_bits(base_scenario(), "run"); }

TEST_P(Axes, ArrivalOrder) {
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    Scenario scenario = base_scenario();
    scenario.seed = seed;
    scenario.up.reorder = scenario.down.reorder = 0.5;
    scenario.up.reorder_max = scenario.down.reorder_max = base::microseconds(40);
    expect_same_bits(scenario, "arrival order");
  }
}

TEST_P(Axes, Loss) {
  Scenario scenario = base_scenario();
  scenario.up.loss = scenario.down.loss = 0.15;
  scenario.up.duplicate = scenario.down.duplicate = 0.1;
  scenario.up.corrupt = scenario.down.corrupt = 0.05;
  expect_same_bits(scenario, "loss");
}

TEST_P(Axes, RankOrder) {
  Scenario scenario = base_scenario();
  std::vector<std::uint16_t> order(kWorld);
  std::iota(order.rbegin(), order.rend(), std::uint16_t{0});
  scenario.calls[0].value_rank = order;
  expect_same_bits(scenario, "ranks reversed");
  std::rotate(order.begin(), order.begin() + 3, order.end());
  std::swap(order[1], order[6]);
  scenario.calls[0].value_rank = order;
  expect_same_bits(scenario, "ranks shuffled");
}

TEST_P(Axes, NumberOfAggregators) {
  for (std::uint16_t sites = 2; sites <= 4; ++sites) {
    Scenario scenario = base_scenario();
    scenario.plan.trees.clear();
    for (std::uint16_t site = 0; site < sites; ++site) {
      scenario.plan.trees.push_back(
          plan::even_tree(kWorld, 1, 1, static_cast<std::uint16_t>(1 + site)));
    }
    expect_same_bits(scenario, "number of aggregators");
  }
}

TEST_P(Axes, TreeShape) {
  Scenario scenario = base_scenario();
  for (const std::uint32_t fan_out : {2U, 4U, 8U}) {
    scenario.plan.trees = {plan::even_tree(kWorld, 2, fan_out)};
    expect_same_bits(scenario, "two levels");
  }
  scenario.plan.trees = {plan::even_tree(kWorld, 3, 2)};
  expect_same_bits(scenario, "three levels");
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    base::Prng prng(seed);
    scenario.plan.trees = {plan::uneven_tree(kWorld, 3, prng)};
    expect_same_bits(scenario, "uneven");
  }
}

TEST_P(Axes, MtuAndChunkSize) {
  for (const std::uint32_t bytes : {700U, 1452U, 4000U, 8952U}) {
    Scenario scenario = base_scenario();
    scenario.plan.datagram_bytes_max = bytes;
    expect_same_bits(scenario, "MTU");
  }
  for (const std::uint32_t elements : {64U, 192U, 352U}) {
    Scenario scenario = base_scenario();
    scenario.plan.elements_max = elements;
    expect_same_bits(scenario, "chunk size");
  }
}

// Uses whole blocks only, because an incomplete block may change when more elements fill it, as the
// spec says.
TEST_P(Axes, MessageSize) {
  for (const std::uint64_t elements : {64U, 640U, 1'152U}) {
    Scenario scenario = base_scenario();
    scenario.calls[0].elements = elements;
    expect_same_bits(scenario, "message size");
  }
}

TEST_P(Axes, OffsetInABuffer) {
  for (const std::uint32_t offset : {1U, 4U, 36U, 63U}) {
    Scenario scenario = base_scenario();
    scenario.calls[0].offset_bytes = offset;
    expect_same_bits(scenario, "offset");
  }
  Scenario scenario = base_scenario();
  scenario.calls[0].in_place = true;
  expect_same_bits(scenario, "in place");
}

TEST_P(Axes, EarlierTensorsOnTheSameSlots) {
  Scenario scenario = base_scenario();
  scenario.plan.small_slots = 2;
  scenario.plan.bulk_slots = 2;
  const CallPlan last = scenario.calls[0];
  scenario.calls.clear();
  for (const oracle::ValueKind kind :
       {oracle::ValueKind::extreme, oracle::ValueKind::special, oracle::ValueKind::apart}) {
    CallPlan earlier = last;
    earlier.elements = 2'000;
    earlier.values.kind = kind;
    scenario.calls.push_back(earlier);
    scenario.calls.push_back(sum_of_integers(500));
  }
  scenario.calls.push_back(last);
  expect_same_bits(scenario, "earlier tensors");
}

std::string name_of(const testing::TestParamInfo<Axes::ParamType>& each) {
  return std::string(std::get<0>(each.param).name) + "_" +
         oracle::value_kind_name(std::get<1>(each.param));
}

INSTANTIATE_TEST_SUITE_P(Wires, Axes,
                         testing::Combine(testing::ValuesIn(kWires),
                                          testing::Values(oracle::ValueKind::heavy,
                                                          oracle::ValueKind::apart,
                                                          oracle::ValueKind::special)),
                         name_of);

}  // namespace
}  // namespace infold::sim
