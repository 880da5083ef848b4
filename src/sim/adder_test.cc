// SPDX-License-Identifier: Apache-2.0
//
// core::Adder beside core::Aggregator: both get the packets that arrive at the aggregators of drawn
// scenarios, and altered ones. They must send the same packets and give the same verdicts.
#include "core/adder/adder.h"

#include <gtest/gtest.h>

#include "sim/scenario/draw.h"
#include "sim/simulation.h"

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
    if (random_.below(4) == 0) deliver(*pair, altered(bytes));
  }
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

 private:
  struct Pair {
    core::Adder adder;
    core::Aggregator aggregator;
  };

  void deliver(Pair& pair, std::span<const std::byte> datagram) {
    if (!difference_.empty() || !is_summed_by_both(datagram)) return;
    ++packets_;
    const core::Verdict adders = pair.adder.handle_datagram(datagram);
    const core::Verdict wanted = pair.aggregator.handle_datagram(datagram);
    taken_ += wanted < core::Verdict::dropped_malformed ? 1 : 0;
    if (adders != wanted) {
      difference_ = std::string("verdicts ") + core::verdict_name(adders) + ", not " +
                    core::verdict_name(wanted);
    }
    while (true) {
      const auto sent = pair.adder.poll_transmit();
      const auto expected = pair.aggregator.poll_transmit();
      if (!sent && !expected) return;
      const bool is_same = sent && expected && sent->to == expected->to &&
                           sent->worker == expected->worker &&
                           std::ranges::equal(sent->datagram, expected->datagram);
      if (!is_same) difference_ += " other packets after " + std::to_string(packets_);
      if (!sent || !expected) return;
    }
  }

  // An honest rank sends nothing else to such a site: its record says what it sums.
  static bool is_summed_by_both(std::span<const std::byte> datagram) {
    core::Packet packet;
    if (core::parse(datagram, packet) != core::Malformed::none) return true;
    const core::SiteRecord record = core::adder_record(INFOLD_ELEMENTS_MAX);
    return !packet.is_sparse() && record.formats.has(packet.header.signature.layout().format);
  }

  std::vector<std::byte> altered(std::span<const std::byte> datagram) {
    std::vector<std::byte> copy(datagram.begin(), datagram.end());
    for (std::uint64_t flips = 1 + random_.below(3); flips > 0 && !copy.empty(); --flips) {
      const std::size_t reach = random_.chance(0.8)
                                    ? std::min<std::size_t>(copy.size(), INFOLD_HEADER_BYTES)
                                    : copy.size();
      copy[random_.below(reach)] ^= static_cast<std::byte>(1U << random_.below(8));
    }
    if (random_.chance(0.2)) copy.resize(random_.below(copy.size() + 8));
    return copy;
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

}  // namespace
}  // namespace infold::sim
