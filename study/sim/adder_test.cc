// SPDX-License-Identifier: Apache-2.0
//
// Compares core::Adder with core::Aggregator. Both get the packets that arrive at the aggregators
// of drawn scenarios, and altered ones. They must send the same packets and give the same verdicts.
#include <gtest/gtest.h>

#include "core/adder/side_by_side_testing.h"
#include "study/sim/altered_testing.h"
#include "study/sim/scenario/draw.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

constexpr std::uint64_t kScenarios = 150;

class SideBySide final : public Observer {
 public:
  SideBySide(const Scenario& scenario, const Wiring& wiring)
      : random_(scenario.seed ^ 0xADDE4), machines_(wiring.network->node_count()) {
    const plan::Plan plan = plan_of(scenario);
    for (std::size_t site = 0; site < plan.trees.size(); ++site) {
      core::AggregatorOptions options = plan::aggregator_options(plan, site, 0);
      options.pending = core::PendingForm::bits;
      options.brief_results = false;  // pipelines that add do not send such results
      options.check_period = 1;
      machines_[wiring.aggregator_nodes[site][0]].emplace(
          Pair{core::Adder(options), core::Aggregator(options)});
    }
  }

  std::uint64_t packets() const { return packets_; }
  std::uint64_t taken() const { return taken_; }
  const std::string& difference() const { return difference_; }

  void on_send(base::Instant, const Path&, std::span<const std::byte>, std::uint64_t) override {}
  void on_arrival(base::Instant, const Path& path, std::span<const std::byte> bytes) override {
    auto& pair = machines_[path.destination()];
    if (!pair) return;
    deliver(*pair, bytes);
    if (random_.below(4) == 0) deliver(*pair, altered(bytes, random_));
  }
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

 private:
  struct Pair {
    core::Adder adder;
    core::Aggregator aggregator;
  };

  void deliver(Pair& pair, std::span<const std::byte> datagram) {
    if (!difference_.empty() || !core::is_summed_by_both(datagram)) return;
    ++packets_;
    const core::VerdictCounters before = pair.aggregator.counters();
    difference_ = core::deliver_to_both(pair.adder, pair.aggregator, datagram);
    const auto dropped = static_cast<std::size_t>(core::Verdict::dropped_malformed);
    taken_ += std::equal(before.begin() + dropped, before.end(),
                         pair.aggregator.counters().begin() + dropped)
                  ? 1
                  : 0;
  }

  base::Prng random_;
  std::vector<std::optional<Pair>> machines_;  // by node
  std::uint64_t packets_ = 0;
  std::uint64_t taken_ = 0;
  std::string difference_;
};

TEST(Adder, SendsWhatTheAggregatorSends) {
  std::uint64_t packets = 0;
  std::uint64_t taken = 0;
  std::uint64_t drawn = 0;
  for (std::uint64_t seed = 1; drawn < kScenarios; ++seed) {
    Scenario scenario = draw_scenario(seed);
    if (!only_add(scenario)) continue;
    ++drawn;
    Simulation simulation(scenario);
    SideBySide both(scenario, simulation.wiring());
    simulation.wiring().network->add_observer(&both);
    const Outcome outcome = simulation.run();
    EXPECT_EQ(both.difference(), "") << "seed " << seed;
    EXPECT_TRUE(outcome.wrong.empty()) << outcome.wrong.front() << "\n" << describe(scenario);
    packets += both.packets();
    taken += both.taken();
  }
  EXPECT_GT(packets, 100'000U);
  EXPECT_GT(taken, packets / 2);
}

// Ranks reverse the bytes of elements, and send narrow integers in wider ones.
TEST(Adder, SumsAsChipsDo) {
  std::uint64_t drawn = 0;
  for (std::uint64_t seed = 1; drawn < kScenarios; ++seed) {
    Scenario scenario = draw_scenario(seed);
    if (!only_add(scenario)) continue;
    ++drawn;
    add_as_chips(scenario);
    const Outcome outcome = Simulation(scenario).run();
    EXPECT_TRUE(outcome.wrong.empty()) << outcome.wrong.front() << "\n" << describe(scenario);
  }
}

}  // namespace
}  // namespace infold::sim
