// SPDX-License-Identifier: Apache-2.0
//
// Tests which links a network has: one for each rank, rack and host, or one for each aggregator of
// each tree.
#include "study/sim/nodes/wiring.h"

#include <vector>

#include <gtest/gtest.h>

namespace infold::sim {
namespace {

constexpr std::uint16_t kRanks = 12;
constexpr std::size_t kWays = 2;

Scenario scenario_of(std::size_t trees) {
  Scenario scenario;
  scenario.plan.world = kRanks;
  const std::vector<core::RankRange> racks = {{0, 4}, {4, 8}};
  const std::vector<core::RankRange> hosts = {{4, 3}};
  scenario.plan.trees.assign(trees, plan::tree_of(kRanks, hosts, racks));
  return scenario;
}

std::size_t links_of(const Scenario& scenario, const Portals& portals = {}) {
  const Job no_calls(scenario);
  return wire(scenario, no_calls, portals).links.size();
}

TEST(Wiring, ARackAndAHostHaveOneLinkForAllTrees) {
  for (const std::size_t trees : {std::size_t{1}, std::size_t{3}}) {
    Scenario scenario = scenario_of(trees);
    EXPECT_EQ(links_of(scenario), kWays * (kRanks + 3 * trees)) << "each aggregator has its own";
    scenario.lower_links = {scenario.link, scenario.link};
    // Three ranks share the host's link.
    EXPECT_EQ(links_of(scenario), kWays * (kRanks - 3 + 2 + 1));
    scenario.lower_links->rack = {};
    EXPECT_EQ(links_of(scenario), kWays * (kRanks - 3 + 1)) << "no link without limit and delay";
  }
}

class Sink final : public Node {
 public:
  void handle_packet(base::Instant, Parcel parcel, Outlet& outlet) override {
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }
};

void expect_paths(const Wiring& wiring, std::uint16_t rank, std::size_t site) {
  const Path& up = wiring.network->path(wiring.to_sites[rank][site]);
  const Path& down = wiring.network->path(wiring.from_sites[rank][site]);
  EXPECT_EQ(up.source, wiring.worker_nodes[rank]);
  EXPECT_EQ(up.destination(), wiring.aggregator_nodes[site].front());
  EXPECT_EQ(down.source, up.destination());
  EXPECT_EQ(down.destination(), up.source);
}

// The portals stand for ranks with their own links and for switches.
Portals five_ranks_and_switches() {
  Portals portals;
  portals.ranks = 5;
  portals.have_links = false;
  portals.have_switches = true;
  portals.make = [] { return std::make_unique<Sink>(); };
  return portals;
}

TEST(Wiring, SwitchesMayBeElsewhere) {
  Scenario scenario = scenario_of(1);
  scenario.plan.trees.assign(2, plan::flat_tree(kRanks));
  const Job no_calls(scenario);
  const Wiring wiring = wire(scenario, no_calls, five_ranks_and_switches());
  EXPECT_EQ(wiring.links.size(), kWays * (kRanks - 5));
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(wiring.workers[rank] == nullptr, rank < 5);
    for (std::size_t site = 0; site < 2; ++site) {
      expect_paths(wiring, rank, site);
      EXPECT_TRUE(wiring.aggregators[site].empty());
    }
  }
}

// The scenario has a switch, and a site at each rank.
Scenario scenario_of_ranks(const plan::Tree& of_switch) {
  Scenario scenario = scenario_of(1);
  scenario.plan.trees.assign(1 + kRanks, plan::flat_tree(kRanks));
  scenario.plan.trees.front() = of_switch;
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    plan::Aggregator& root = scenario.plan.trees[1U + rank].aggregators.front();
    root.place = plan::Place::rank;
    root.rank = rank;
  }
  return scenario;
}

// Ranks 0 to 4 are one rack, ranks 5 to 9 another, and the last two are at the root.
TEST(Wiring, PacketsBetweenRanksPassTheRacksOfBoth) {
  const std::vector<core::RankRange> racks = {{0, 5}, {5, 5}};
  Scenario scenario = scenario_of_ranks(plan::tree_of(kRanks, {}, racks));
  scenario.lower_links = {scenario.link, scenario.link};
  const Job no_calls(scenario);
  const Wiring wiring = wire(scenario, no_calls);
  EXPECT_EQ(wiring.links.size(), kWays * (kRanks + racks.size()));
  const auto rack_of = [&](std::uint16_t rank) { return core::find_range(racks, rank); };
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    const Path& to_switch = wiring.network->path(wiring.to_sites[rank][0]);
    EXPECT_EQ(to_switch.hop_count, 2) << rank << " to its switch";
    for (std::uint16_t owner = 0; owner < kRanks; ++owner) {
      const int out = rack_of(rank) != nullptr && rack_of(rank) != rack_of(owner) ? 1 : 0;
      const int in = rack_of(owner) != nullptr && rack_of(rank) != rack_of(owner) ? 1 : 0;
      const int hops = owner == rank ? 1 : 3 + out + in;
      const Path& up = wiring.network->path(wiring.to_sites[rank][1U + owner]);
      const Path& down = wiring.network->path(wiring.from_sites[rank][1U + owner]);
      EXPECT_EQ(up.hop_count, hops) << rank << " to " << owner;
      EXPECT_EQ(down.hop_count, hops) << owner << " to " << rank;
    }
  }
  // The packet leaves the first rack and enters the second one on the links that all packets there
  // share.
  const auto hop = [&](PathId path, std::size_t number) {
    return wiring.network->path(path).hops[number];
  };
  EXPECT_EQ(hop(wiring.to_sites[0][1 + 5], 1), hop(wiring.to_sites[1][1 + 9], 1));
  EXPECT_EQ(hop(wiring.to_sites[0][1 + 5], 2), hop(wiring.to_sites[11][1 + 9], 1));
  EXPECT_EQ(hop(wiring.from_sites[5][1 + 0], 1), hop(wiring.to_sites[0][1 + 5], 1));
}

// The first five ranks are elsewhere, with their sites.
TEST(Wiring, RanksMayBeElsewhereWithTheirSites) {
  const Scenario scenario = scenario_of_ranks(plan::flat_tree(kRanks));
  const Job no_calls(scenario);
  Portals portals;
  portals.ranks = 5;
  portals.make = [] { return std::make_unique<Sink>(); };
  const Wiring wiring = wire(scenario, no_calls, portals);
  EXPECT_EQ(wiring.links.size(), kWays * kRanks) << "a rank's site has the rank's link";
  for (std::size_t site = 0; site <= kRanks; ++site) {
    EXPECT_EQ(wiring.aggregators[site].empty(), site >= 1 && site <= 5) << site;
    for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
      expect_paths(wiring, rank, site);
      const Path& up = wiring.network->path(wiring.to_sites[rank][site]);
      const bool is_own = site == 1U + rank;
      // A switch is behind one link. The way to another rank crosses the links of both ranks.
      const int hops = is_own ? 1 : site == 0 ? 2 : 3;
      const bool has_queue = rank < 5 && !is_own;
      EXPECT_EQ(up.hop_count, hops + (has_queue ? 1 : 0)) << rank << " to " << site;
    }
  }
}

// A switch is elsewhere, and so are the first five ranks with their links, faults and sites. A
// packet between one of them and a rank's site here crosses the link and the faults of the site's
// rank.
TEST(Wiring, RanksAndSwitchesMayBeElsewhere) {
  Scenario scenario = scenario_of_ranks(plan::flat_tree(kRanks));
  scenario.up.loss = scenario.down.loss = 0.1;
  const Job no_calls(scenario);
  const Wiring wiring = wire(scenario, no_calls, five_ranks_and_switches());
  EXPECT_EQ(wiring.links.size(), kWays * (kRanks - 5));
  for (std::size_t site = 0; site <= kRanks; ++site) {
    EXPECT_EQ(wiring.aggregators[site].empty(), site <= 5) << site;
    for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
      expect_paths(wiring, rank, site);
      const bool is_own = site == 1U + rank;
      const bool has_link = rank >= 5 && !is_own;
      const bool reaches_link = site > 5 && !is_own;
      // Only one of the two links has faults.
      const int hops =
          1 + (has_link ? 1 : 0) + (reaches_link ? 1 : 0) + (has_link || reaches_link ? 1 : 0);
      EXPECT_EQ(wiring.network->path(wiring.to_sites[rank][site]).hop_count, hops)
          << rank << " to " << site;
      EXPECT_EQ(wiring.network->path(wiring.from_sites[rank][site]).hop_count, hops)
          << site << " to " << rank;
    }
  }
}

}  // namespace
}  // namespace infold::sim
