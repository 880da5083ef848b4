// SPDX-License-Identifier: Apache-2.0
//
// Real ranks cannot tell an emulated job from one whose ranks are all real: on links without loss
// they exchange the same datagrams, bit for bit and at the same times, in every placement. Here all
// ranks are workers of this process, and time is virtual.
#include "plan/messages.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "emulate/contribution.h"
#include "emulate/emulated_job.h"
#include "plan/driver_shares.h"
#include "sim/nodes/tree_paths.h"
#include "wire/infold_wire.h"

namespace infold::emulate {
namespace {

using core::DataType;
using core::WireFormat;

using Datagram = std::vector<std::byte>;
// Datagrams by the time when a party sent or had them. Those of one instant are in no order: whose
// packet is first then is chance.
using Traffic = std::map<base::Instant, std::multiset<Datagram>>;
// What real ranks saw of each way, and what their sites saw.
enum class Party : std::uint8_t { rank, site };
using Ways = std::map<std::pair<Party, Way>, Traffic>;

void note(Ways& ways, base::Instant now, Party party, Way way, std::span<const std::byte> bytes) {
  Datagram datagram(bytes.begin(), bytes.end());
  // A result names the last worker that contributed, which is any of those of one instant.
  if (way.is_down) datagram[offsetof(infold_header, worker)] = {};
  ways[{party, way}][now].insert(std::move(datagram));
}

// The rank that brings the site, if a rank does.
std::optional<std::uint16_t> rank_of(const plan::Plan& plan, std::size_t site) {
  return plan.trees[site].aggregators.front().rank;
}

struct Case {
  EmulationOptions options;
  control::JobTerms terms;
  std::vector<control::TransferNote> calls;
};

control::TransferNote draw_call(std::uint16_t world, base::Prng& prng) {
  constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                                 DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
  constexpr WireFormat kFloats[] = {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32,
                                    WireFormat::native};
  control::TransferNote note;
  note.layout.dtype = kTypes[prng.below(std::size(kTypes))];
  note.layout.format = core::is_float(note.layout.dtype) ? kFloats[prng.below(std::size(kFloats))]
                                                         : core::integer_format(note.layout.dtype);
  note.collective = static_cast<core::Collective>(prng.below(3));
  if (note.collective == core::Collective::broadcast) {
    note.layout.format = core::integer_format(note.layout.dtype);
  }
  note.root = static_cast<std::uint16_t>(prng.below(world));
  const bool is_barrier = note.collective == core::Collective::barrier;
  note.elements = is_barrier ? 0 : 1 + prng.below(prng.chance(0.6) ? 400 : 20'000);
  return note;
}

Case draw(std::uint64_t seed) {
  base::Prng prng(base::mix64(seed));
  Case drawn;
  EmulationOptions& options = drawn.options;
  options.ranks = static_cast<std::uint32_t>(2 + prng.below(15));
  options.real = static_cast<std::uint32_t>(1 + prng.below(std::min(options.ranks - 1, 4U)));
  options.values = Values::generated;
  options.link = {.delay = base::microseconds(10)};
  options.rack_link = {.delay = base::microseconds(3)};
  Placement& placement = options.placement;
  placement.ranks_sum = prng.chance(0.4);
  if (options.ranks > 2 && !placement.ranks_sum && prng.chance(0.6)) {
    const auto racks = static_cast<std::uint32_t>(2 + prng.below(options.ranks / 2));
    placement.racks = even_ranges(options.ranks, racks);
    if (prng.chance(0.3)) placement.racks.erase(placement.racks.begin());  // those are at the root
  }
  placement.weights.clear();
  for (std::uint64_t sites = prng.below(4) + (placement.ranks_sum ? 0 : 1); sites > 0; --sites) {
    placement.weights.push_back(static_cast<std::uint16_t>(1 + prng.below(3)));
  }
  control::JobTerms& terms = drawn.terms;
  terms.job = 3;
  terms.epoch = 5;
  terms.world = options.ranks;
  terms.datagram_bytes_max = static_cast<std::uint32_t>(prng.chance(0.5) ? 1472 : 1100);
  terms.elements_max = 8192;
  terms.small_slots = static_cast<std::uint16_t>(1 + prng.below(16));
  terms.bulk_slots = static_cast<std::uint16_t>(1 + prng.below(48));
  terms.racks = placement.racks;
  for (const std::uint16_t weight : placement.weights) {
    terms.sites.push_back({.address = "127.0.0.1:7700", .weight = weight});
  }
  for (std::uint32_t rank = 0; placement.ranks_sum && rank < options.ranks; ++rank) {
    terms.sites.push_back({.address = "127.0.0.1:7701",
                           .weight = static_cast<std::uint32_t>(1 + prng.below(3)),
                           .at_rank = true});
  }
  // Two emulated ranks that follow each other, of one rack or none, may be a host.
  for (std::uint32_t first = options.real; first + 1 < options.ranks; ++first) {
    if (placement.ranks_sum) break;
    const core::RankRange host = {static_cast<std::uint16_t>(first), 2};
    if (prng.chance(0.5) ||
        core::find_range(terms.racks, first) != core::find_range(terms.racks, first + 1)) {
      continue;
    }
    terms.groups.push_back({host, "here"});
    ++first;
  }
  const std::uint64_t calls = 1 + prng.below(4);
  for (std::uint64_t i = 0; i < calls; ++i) {
    drawn.calls.push_back(draw_call(static_cast<std::uint16_t>(options.ranks), prng));
  }
  return drawn;
}

// As a rank makes it: with generated elements.
sim::Call call_of(const control::TransferNote& note, std::uint16_t rank) {
  const auto own =
      std::make_shared<Contribution>(Contribution{note.layout, rank, codec_of_generated(note)});
  sim::Call call;
  call.request.collective = note.collective;
  call.request.reduction = note.reduction;
  call.request.layout = note.layout;
  call.request.elements = note.elements;
  call.request.root = note.root;
  if (note.elements > 0) {
    call.request.codec = &contribution_codec();
    call.request.context = own.get();
  }
  call.done = [own] {};
  return call;
}

struct Parties {
  std::map<sim::NodeId, std::uint16_t> ranks;  // of nodes that are workers, or stand for them
  std::set<sim::NodeId> workers;               // of real ranks
  std::set<sim::NodeId> sites;                 // likewise
};

// Sees what real ranks and their sites send and receive.
class Listener final : public sim::Observer {
 public:
  explicit Listener(Parties parties) : parties_(std::move(parties)) {}
  void on_send(base::Instant now, const sim::Path& path, std::span<const std::byte> bytes,
               std::uint64_t) override {
    see(now, path, path.source, bytes);
  }
  void on_arrival(base::Instant now, const sim::Path& path,
                  std::span<const std::byte> bytes) override {
    see(now, path, path.destination(), bytes);
  }
  void on_drop(base::Instant, const sim::Path&, std::span<const std::byte>,
               sim::DropCause) override {}

  const Ways& ways() const { return ways_; }

 private:
  void see(base::Instant now, const sim::Path& path, sim::NodeId party,
           std::span<const std::byte> bytes) {
    const bool at_worker = parties_.workers.contains(party);
    if (!at_worker && !parties_.sites.contains(party)) return;
    const auto below = at_worker ? parties_.ranks.find(party) : parties_.ranks.find(path.source);
    const bool is_down = below == parties_.ranks.end() || path.source != below->first;
    const auto rank = is_down ? parties_.ranks.find(path.destination()) : below;
    note(ways_, now, at_worker ? Party::rank : Party::site, {rank->second, path.site, is_down},
         bytes);
  }

  const Parties parties_;
  Ways ways_;
};

Parties parties_of(const sim::Wiring& wiring, const plan::Plan& plan, std::uint32_t real) {
  Parties parties;
  for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
    parties.ranks[wiring.worker_nodes[rank]] = rank;
    if (rank < real) parties.workers.insert(wiring.worker_nodes[rank]);
  }
  for (std::size_t site = 0; site < plan.trees.size(); ++site) {
    const std::optional<std::uint16_t> rank = rank_of(plan, site);
    if (rank && *rank < real) parties.sites.insert(wiring.aggregator_nodes[site].front());
  }
  return parties;
}

// All ranks are real, on the network that an emulated job would have.
Ways ways_of_real(const Case& drawn, const sim::Scenario& scenario) {
  const sim::Job no_calls(scenario);
  sim::Wiring wiring = sim::wire(scenario, no_calls);
  Listener listener(parties_of(wiring, scenario.plan, drawn.options.real));
  wiring.network->add_observer(&listener);
  for (std::uint16_t rank = 0; rank < drawn.options.ranks; ++rank) {
    for (const control::TransferNote& each : drawn.calls) {
      wiring.workers[rank]->add_call(call_of(each, rank));
    }
    wiring.network->wake(wiring.worker_nodes[rank]);
  }
  while (wiring.network->step(base::Instant{} + base::seconds(100))) {
  }
  for (const sim::WorkerNode* const worker : wiring.workers) EXPECT_TRUE(worker->finished());
  return listener.ways();
}

// Real ranks and their sites beside an emulated job, joined to it by wires without delay, as
// sockets join them.
class Beside {
 public:
  explicit Beside(const Case& drawn)
      : job_(drawn.options, drawn.terms, base::Instant{},
             [this](Way way, std::span<const std::byte> datagram) { deliver(way, datagram); }),
        real_(drawn.options.real),
        network_({.node_count_max = 2 * real_ + drawn.options.ranks + 1,
                  .packet_count_max = 20'000,
                  .parcel_count_max = 20'000,
                  .packet_bytes_max = drawn.terms.datagram_bytes_max}) {
    far_sites_ = network_.add_node(std::make_unique<Wire>(*this));
    for (std::uint16_t rank = 0; rank < real_; ++rank) add_rank(rank);
    for (std::uint16_t rank = 0; rank < drawn.options.ranks; ++rank) {
      far_ranks_.push_back(network_.add_node(std::make_unique<Wire>(*this)));
      parties_.ranks[far_ranks_.back()] = rank;
    }
    for (std::size_t site = 0; site < job_.scenario().plan.trees.size(); ++site) add_paths(site);
    listener_.emplace(parties_);
    network_.add_observer(&*listener_);
    for (std::uint16_t rank = 0; rank < real_; ++rank) {
      workers_[rank]->connect(up_[rank], nullptr, &network_);
    }
    network_.start();
    for (const control::TransferNote& each : drawn.calls) {
      for (std::uint16_t rank = 0; rank < workers_.size(); ++rank) {
        workers_[rank]->add_call(call_of(each, rank));
      }
      EXPECT_TRUE(job_.note(base::Instant{}, each).has_value());
    }
    for (sim::NodeId node = 0; node < network_.node_count(); ++node) network_.wake(node);
  }

  const EmulatedJob& job() const { return job_; }
  Ways run() {
    for (;;) {
      const base::Instant outside = network_.next_event();
      const base::Instant inside = job_.next_event();
      if (outside == base::Instant::never() && inside == base::Instant::never()) break;
      now_ = std::min(inside, outside);
      job_.run(now_);
      if (outside == now_) network_.step(now_);
    }
    for (const sim::WorkerNode* const worker : workers_) EXPECT_TRUE(worker->finished());
    return listener_->ways();
  }

 private:
  class Wire final : public sim::Node {
   public:
    explicit Wire(Beside& beside) : beside_(beside) {}
    void handle_packet(base::Instant now, sim::Parcel parcel, sim::Outlet& outlet) override {
      beside_.take(now, parcel);
      outlet.packets().release(parcel.packet);
    }
    void handle_timeout(base::Instant, sim::Outlet&) override {}
    base::Instant next_timeout() const override { return base::Instant::never(); }

   private:
    Beside& beside_;
  };

  void add_rank(std::uint16_t rank) {
    const sim::Scenario& scenario = job_.scenario();
    const plan::Plan plan = sim::plan_of(scenario);
    sim::WorkerNodeOptions options;
    options.worker = plan::worker_options(plan, rank);
    options.worker.check_period = scenario.check_period;
    options.worker.window_max = scenario.window_max;
    options.worker.transfers_max = scenario.transfers_max;
    options.worker.seed = base::mix64(scenario.seed + rank);
    options.shares = plan::driver_shares(plan, 1);
    auto made = std::make_unique<sim::WorkerNode>(std::move(options));
    workers_.push_back(made.get());
    nodes_.push_back(network_.add_node(std::move(made)));
    parties_.ranks[nodes_.back()] = rank;
    parties_.workers.insert(nodes_.back());
    up_.emplace_back();
  }

  // Between a site and all ranks, where one of the two is real.
  void add_paths(std::size_t site) {
    const plan::Plan plan = sim::plan_of(job_.scenario());
    const std::optional<std::uint16_t> owner = rank_of(plan, site);
    sim::AggregatorNode* aggregator = nullptr;
    sim::NodeId root = far_sites_;
    if (owner && *owner < real_) {
      auto made = std::make_unique<sim::AggregatorNode>(plan::aggregator_options(plan, site, 0), false);
      aggregator = made.get();
      root = network_.add_node(std::move(made));
      parties_.sites.insert(root);
    }
    std::vector<sim::PathId> to_workers;
    for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
      const Way up = {rank, static_cast<std::uint8_t>(site), false};
      const Way down = {rank, static_cast<std::uint8_t>(site), true};
      if (rank < real_) {
        const sim::NodeId above = owner == rank ? root : far_sites_;
        up_[rank].push_back(add_path(up, nodes_[rank], above));
        in_[down] = add_path(down, above, nodes_[rank]);
      }
      if (owner == rank && aggregator != nullptr) {
        to_workers.push_back(in_[down]);
        continue;
      }
      if (aggregator == nullptr) continue;
      to_workers.push_back(add_path(down, root, far_ranks_[rank]));
      in_[up] = add_path(up, far_ranks_[rank], root);
    }
    if (aggregator != nullptr) aggregator->connect(std::move(to_workers), std::nullopt);
  }

  sim::PathId add_path(Way way, sim::NodeId from, sim::NodeId to) {
    const sim::PathId path = sim::add_path(network_, way.site, from, {}, to);
    ways_of_paths_[path] = way;
    return path;
  }

  void take(base::Instant now, const sim::Parcel& parcel) {
    now_ = now;
    job_.take(now, ways_of_paths_.at(parcel.path), network_.packets().bytes(parcel.packet));
  }

  void deliver(Way way, std::span<const std::byte> datagram) {
    if (network_.now() < now_) network_.advance(now_);
    const sim::PacketIndex packet = network_.packets().take();
    std::copy(datagram.begin(), datagram.end(), network_.packets().room(packet).begin());
    network_.packets().set_bytes(packet, datagram.size());
    network_.send(in_.at(way), packet);
  }

  base::Instant now_;
  EmulatedJob job_;
  const std::uint32_t real_;
  sim::Network network_;
  std::vector<sim::WorkerNode*> workers_;
  std::vector<sim::NodeId> nodes_;            // of workers
  std::vector<std::vector<sim::PathId>> up_;  // by real rank and site
  sim::NodeId far_sites_ = 0;                 // the wire to sites that are not real
  std::vector<sim::NodeId> far_ranks_;        // the wires to workers, as real ranks' sites see them
  std::map<Way, sim::PathId> in_;             // from a wire
  std::map<sim::PathId, Way> ways_of_paths_;
  Parties parties_;
  std::optional<Listener> listener_;
};

std::multiset<std::size_t> sizes_of(const Traffic& traffic) {
  std::multiset<std::size_t> sizes;
  for (const auto& [at, datagrams] : traffic) {
    for (const Datagram& each : datagrams) sizes.insert(each.size());
  }
  return sizes;
}

// Of the only call, what the plan says of the links of real ranks and of their sites.
void expect_planned(const Case& drawn, const plan::Plan& plan, const Ways& ways) {
  const control::TransferNote& call = drawn.calls.front();
  std::map<std::pair<Party, Way>, std::multiset<std::size_t>> planned;
  for (const plan::Message& each : plan::messages_of(
           plan, {call.collective, call.layout, call.elements, call.root, call.priority})) {
    const plan::Aggregator& above = plan.trees[each.tree].aggregators[each.aggregator];
    const plan::Child& child = above.children[each.child];
    if (!child.is_rank()) continue;
    const Way way = {child.ranks.first, each.tree, each.is_down};
    if (way.rank < drawn.options.real) planned[{Party::rank, way}].insert(each.bytes);
    const std::optional<std::uint16_t> owner = rank_of(plan, each.tree);
    if (owner && *owner < drawn.options.real) planned[{Party::site, way}].insert(each.bytes);
  }
  ASSERT_EQ(planned.size(), ways.size());
  for (const auto& [way, sizes] : planned) ASSERT_EQ(sizes_of(ways.at(way)), sizes);
}

TEST(EmulatedMessages, AreThoseOfRealRanksInEveryPlacement) {
  std::size_t compared = 0;
  std::size_t of_sites = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const Case drawn = draw(seed);
    Beside beside(drawn);
    const Ways emulated = beside.run();
    const sim::Scenario& scenario = beside.job().scenario();
    const Ways real = ways_of_real(drawn, scenario);
    ASSERT_FALSE(real.empty());
    ASSERT_EQ(emulated.size(), real.size()) << "seed " << seed;
    for (const auto& [seen, traffic] : real) {
      const auto& [party, way] = seen;
      ASSERT_TRUE(emulated.at(seen) == traffic)
          << "seed " << seed << ", rank " << way.rank << ", site " << int{way.site}
          << (way.is_down ? ", to the rank" : ", from the rank")
          << (party == Party::site ? ", at the site" : ", at the rank");
      compared += sizes_of(traffic).size();
      of_sites += party == Party::site ? sizes_of(traffic).size() : 0;
    }
    if (drawn.calls.size() == 1) {
      ASSERT_NO_FATAL_FAILURE(expect_planned(drawn, scenario.plan, emulated)) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 10'000U);
  EXPECT_GT(of_sites, 5'000U) << "at real ranks that sum";
}

base::Instant end_of(const Ways& ways) {
  base::Instant end;
  for (const auto& [seen, traffic] : ways) end = std::max(end, traffic.rbegin()->first);
  return end;
}

// Two sums of a megabyte, over links that take their time.
Case on_links(std::int64_t bits_per_second, bool ranks_sum) {
  Case drawn;
  drawn.options = {.ranks = 8, .real = 2, .values = Values::generated};
  drawn.options.placement.ranks_sum = ranks_sum;
  drawn.options.link = {
      .bits_per_second = bits_per_second,
      .delay = base::microseconds(1000),
      .queue_bytes_max = sim::port_queue_bytes(static_cast<double>(bits_per_second))};
  drawn.terms.job = 3;
  drawn.terms.world = 8;
  drawn.terms.datagram_bytes_max = 1472;
  drawn.terms.elements_max = 8192;
  drawn.terms.small_slots = 64;
  drawn.terms.bulk_slots = 448;
  drawn.terms.sites.assign(ranks_sum ? 8 : 1,
                           {.address = "127.0.0.1:7700", .weight = 1, .at_rank = ranks_sum});
  drawn.calls.assign(2, {.layout = {WireFormat::bfp32, DataType::f32}, .elements = 250'000});
  return drawn;
}

// A real rank's socket does not wait for an emulated link. Its packets then wait in the emulator.
TEST(EmulatedMessages, TakeAsLongAsThoseOfRealRanks) {
  for (const Case& drawn : {on_links(20'000'000, false), on_links(100'000'000, false),
                            on_links(1'000'000'000, false), on_links(100'000'000, true)}) {
    Beside beside(drawn);
    const base::Instant emulated = end_of(beside.run());
    const base::Instant real = end_of(ways_of_real(drawn, beside.job().scenario()));
    EXPECT_NEAR(static_cast<double>(emulated.ns) / static_cast<double>(real.ns), 1, 0.02)
        << drawn.options.link.bits_per_second << " bit/s, "
        << (drawn.options.placement.ranks_sum ? "ranks sum" : "a switch sums");
  }
}

}  // namespace
}  // namespace infold::emulate
