// SPDX-License-Identifier: Apache-2.0
//
// The messages of a plan are the packets that the machines send on links without loss. The tests
// draw placements, numbers of ranks, types and collectives.
#include <map>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "plan/messages.h"
#include "study/oracle/values.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

using core::Collective;
using core::DataType;
using core::WireFormat;

struct Load {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Load&, const Load&) = default;
  friend void PrintTo(const Load& load, std::ostream* out) {
    *out << load.packets << " packets, " << load.bytes << " bytes";
  }
};

// The tree, and the nodes at both ends.
using Way = std::tuple<std::size_t, NodeId, NodeId>;
using Loads = std::map<Way, Load>;

class LoadMeter final : public Observer {
 public:
  void on_send(base::Instant, const Path& path, std::span<const std::byte> bytes,
               std::uint64_t) override {
    Load& load = loads_[{path.site, path.source, path.destination()}];
    ++load.packets;
    load.bytes += bytes.size();
  }
  void on_arrival(base::Instant, const Path&, std::span<const std::byte>) override {}
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

  const Loads& loads() const { return loads_; }

 private:
  Loads loads_;
};

NodeId node_of(const plan::Plan& plan, const Wiring& wiring, const plan::Message& message) {
  const plan::Aggregator& above = plan.trees[message.tree].aggregators[message.aggregator];
  const plan::Child& child = above.children[message.child];
  return child.is_rank() ? wiring.worker_nodes[child.ranks.first]
                         : wiring.aggregator_nodes[message.tree][child.aggregator];
}

Loads planned_loads(const plan::Plan& plan, const Wiring& wiring,
                    const std::vector<plan::Message>& messages) {
  Loads loads;
  for (const plan::Message& message : messages) {
    const NodeId above = wiring.aggregator_nodes[message.tree][message.aggregator];
    const NodeId below = node_of(plan, wiring, message);
    Load& load =
        message.is_down ? loads[{message.tree, above, below}] : loads[{message.tree, below, above}];
    ++load.packets;
    load.bytes += message.bytes;
  }
  return loads;
}

// Draws one site, two hosts in a rack, racks, weights, or trees with three levels.
std::vector<plan::Tree> draw_trees(std::uint16_t world, base::Prng& prng) {
  std::vector<plan::Tree> trees;
  const std::uint64_t count = 1 + prng.below(3);
  for (std::uint64_t tree = 0; tree < count; ++tree) {
    const auto half = static_cast<std::uint16_t>(world / 2);
    const std::vector<core::RankRange> racks = {{0, half},
                                                {half, static_cast<std::uint16_t>(world - half)}};
    const std::vector<core::RankRange> host = {{half, static_cast<std::uint16_t>(world - half)}};
    switch (prng.below(5)) {
      case 0: trees.push_back(plan::flat_tree(world)); break;
      case 1: trees.push_back(plan::tree_of(world, {}, racks)); break;
      case 2: trees.push_back(plan::tree_of(world, host, racks)); break;
      case 3: trees.push_back(plan::even_tree(world, 2, 3)); break;
      default: trees.push_back(plan::uneven_tree(world, 3, prng)); break;
    }
    trees.back().weight = static_cast<std::uint16_t>(1 + prng.below(4));
  }
  return trees;
}

CallPlan draw_call(std::uint16_t world, base::Prng& prng) {
  constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                                 DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
  constexpr WireFormat kBlocks[] = {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32,
                                    WireFormat::native};
  CallPlan call;
  call.layout.dtype = kTypes[prng.below(std::size(kTypes))];
  call.layout.format = core::is_float(call.layout.dtype) ? kBlocks[prng.below(std::size(kBlocks))]
                                                         : core::integer_format(call.layout.dtype);
  // The number of second doubles in a sum of f64 depends on values.
  if (call.layout.is_native() && call.layout.dtype == DataType::f64) {
    call.layout.format = WireFormat::bfp32;
  }
  call.collective = static_cast<Collective>(prng.below(3));
  if (call.collective == Collective::broadcast) {
    call.layout.format = core::integer_format(call.layout.dtype);
  }
  call.root = static_cast<std::uint16_t>(prng.below(world));
  call.elements = 1 + prng.below(prng.chance(0.5) ? 400 : 60'000);
  call.values = {call.layout.dtype, oracle::ValueKind::smooth, prng.next()};
  return call;
}

Scenario draw(std::uint64_t seed) {
  base::Prng prng(base::mix64(seed));
  Scenario scenario;
  scenario.name = "messages";
  scenario.seed = seed;
  scenario.plan.world = static_cast<std::uint16_t>(2 + prng.below(15));
  scenario.plan.trees = draw_trees(scenario.plan.world, prng);
  scenario.link = {.bits_per_second = 0, .delay = base::microseconds(10), .queue_bytes_max = 0};
  scenario.calls = {draw_call(scenario.plan.world, prng)};
  scenario.plan.brief_results = prng.chance(0.5);
  return scenario;
}

plan::Call call_of(const CallPlan& call) {
  return {call.collective, call.layout, call.elements, call.root, call.priority};
}

TEST(PlanMessages, AreThePacketsOfTheMachines) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Scenario scenario = draw(seed);
    Simulation simulation(scenario);
    LoadMeter meter;
    simulation.observe(&meter);
    const Outcome outcome = simulation.run();
    ASSERT_TRUE(outcome.passed()) << outcome.wrong.front();
    const std::vector<plan::Message> messages =
        plan::messages_of(scenario.plan, call_of(scenario.calls.front()));
    ASSERT_EQ(planned_loads(scenario.plan, simulation.wiring(), messages), meter.loads())
        << describe(scenario);
  }
}

// Which blocks are left out depends on values, so a plan gives only the maximum.
TEST(PlanMessages, AreMoreThanThoseOfASparseSum) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Scenario scenario = draw(seed);
    CallPlan& call = scenario.calls.front();
    if (call.collective == Collective::broadcast) {
      call.collective = Collective::all_reduce;
      if (core::is_float(call.layout.dtype)) call.layout.format = WireFormat::bfp32;
    }
    call.is_sparse = true;
    call.values.kind = oracle::ValueKind::sparse;
    Simulation simulation(scenario);
    LoadMeter meter;
    simulation.observe(&meter);
    const Outcome outcome = simulation.run();
    ASSERT_TRUE(outcome.passed()) << outcome.wrong.front();
    const Loads planned = planned_loads(scenario.plan, simulation.wiring(),
                                        plan::messages_of(scenario.plan, call_of(call)));
    ASSERT_EQ(planned.size(), meter.loads().size());
    for (const auto& [way, load] : meter.loads()) {
      const Load& most = planned.at(way);
      ASSERT_LE(load.packets, most.packets) << describe(scenario);
      ASSERT_LE(load.bytes, most.bytes) << describe(scenario);
    }
  }
}

// A rank sends into a slot again when it has the slot's last result. An aggregator sends when all
// its children have sent.
TEST(PlanMessages, WaitForWhatTheyNeed) {
  plan::Plan plan;
  plan.world = 4;
  plan.small_slots = 2;
  plan.bulk_slots = 3;
  plan.trees = {plan::even_tree(4, 2, 2)};
  plan::Call call;
  call.layout = {WireFormat::i32, DataType::i32};
  call.elements = 4 * std::uint64_t{core::chunk_elements(call.layout, plan::limits_of(plan))};
  const std::vector<plan::Message> messages = plan::messages_of(plan, call);
  constexpr std::size_t kOfAChunk = 12;  // six ways, up and down
  ASSERT_EQ(messages.size(), 5 * kOfAChunk) << "four chunks, and the announcement";
  EXPECT_TRUE(messages.front().is_small);
  EXPECT_EQ(messages.front().elements, 0U);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const plan::Message& message = messages[i];
    for (const std::uint32_t before : message.after) ASSERT_LT(before, i);
    const bool is_of_rank =
        plan.trees[0].aggregators[message.aggregator].children[message.child].is_rank();
    if (!message.is_down && is_of_rank) {
      ASSERT_EQ(message.after.size(), message.chunk >= 3 ? 1U : 0U);
      if (message.chunk < 3) continue;
      const plan::Message& freed = messages[message.after.front()];
      EXPECT_EQ(freed.chunk, message.chunk - 3);
      EXPECT_TRUE(freed.is_down);
      EXPECT_EQ(freed.aggregator, message.aggregator);
      EXPECT_EQ(freed.child, message.child);
    } else {
      // The message waits for the contributions of two children, or for a result from above.
      EXPECT_EQ(message.after.size(), message.is_down && is_of_rank ? 1U : 2U);
    }
  }
}

}  // namespace
}  // namespace infold::sim
