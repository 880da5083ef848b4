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
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "emulate/contribution.h"
#include "emulate/emulated_job.h"
#include "numeric/codec.h"
#include "plan/driver_shares.h"
#include "wire/infold_wire.h"

namespace infold::emulate {
namespace {

using core::DataType;
using core::WireFormat;

using Datagram = std::vector<std::byte>;
// By rank, site and direction: the datagrams, by the time when the rank sent or had them. Those of
// one instant are in no order: whose packet is first then is chance.
using Way = std::tuple<std::uint16_t, std::uint8_t, bool>;
using Traffic = std::map<base::Instant, std::multiset<Datagram>>;
using Ways = std::map<Way, Traffic>;

void note(Ways& ways, base::Instant now, Way way, std::span<const std::byte> bytes) {
  Datagram datagram(bytes.begin(), bytes.end());
  // A result names the last worker that contributed, which is any of those of one instant.
  if (std::get<bool>(way)) datagram[offsetof(infold_header, worker)] = {};
  ways[way][now].insert(std::move(datagram));
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
  if (options.ranks > 2 && prng.chance(0.6)) {
    const auto racks = static_cast<std::uint32_t>(2 + prng.below(options.ranks / 2));
    placement.racks = even_ranges(options.ranks, racks);
    if (prng.chance(0.3)) placement.racks.erase(placement.racks.begin());  // those are at the root
  }
  placement.weights.clear();
  for (std::uint64_t sites = 1 + prng.below(4); sites > 0; --sites) {
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
  // Two emulated ranks that follow each other, of one rack or none, may be a host.
  for (std::uint32_t first = options.real; first + 1 < options.ranks; ++first) {
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

// Sees what real ranks send and receive where all ranks are real.
class Listener final : public sim::Observer {
 public:
  Listener(const sim::Wiring& wiring, std::uint32_t real) {
    for (std::uint32_t rank = 0; rank < real; ++rank) {
      ranks_[wiring.worker_nodes[rank]] = static_cast<std::uint16_t>(rank);
    }
  }
  void on_send(base::Instant now, const sim::Path& path, std::span<const std::byte> bytes,
               std::uint64_t) override {
    const auto rank = ranks_.find(path.source);
    if (rank != ranks_.end()) note(ways_, now, {rank->second, path.site, false}, bytes);
  }
  void on_arrival(base::Instant now, const sim::Path& path,
                  std::span<const std::byte> bytes) override {
    const auto rank = ranks_.find(path.destination());
    if (rank != ranks_.end()) note(ways_, now, {rank->second, path.site, true}, bytes);
  }
  void on_drop(base::Instant, const sim::Path&, std::span<const std::byte>,
               sim::DropCause) override {}

  const Ways& ways() const { return ways_; }

 private:
  std::map<sim::NodeId, std::uint16_t> ranks_;
  Ways ways_;
};

// All ranks are real, on the network that an emulated job would have.
Ways ways_of_real(const Case& drawn, const sim::Scenario& scenario) {
  const sim::Job no_calls(scenario);
  sim::Wiring wiring = sim::wire(scenario, no_calls);
  Listener listener(wiring, drawn.options.real);
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

// Real ranks beside an emulated job, joined to it by wires without delay, as sockets join them.
class Beside {
 public:
  explicit Beside(const Case& drawn)
      : job_(drawn.options, drawn.terms, base::Instant{},
             [this](std::uint16_t rank, std::uint8_t site, std::span<const std::byte> datagram) {
               deliver(rank, site, datagram);
             }),
        network_({.node_count_max = 2 * drawn.options.real,
                  .packet_count_max = 20'000,
                  .parcel_count_max = 20'000,
                  .packet_bytes_max = drawn.terms.datagram_bytes_max}) {
    for (std::uint16_t rank = 0; rank < drawn.options.real; ++rank) add_rank(rank);
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
    return ways_;
  }

 private:
  class Wire final : public sim::Node {
   public:
    Wire(Beside& beside, std::uint16_t rank) : beside_(beside), rank_(rank) {}
    void handle_packet(base::Instant now, sim::Parcel parcel, sim::Outlet& outlet) override {
      beside_.take(now, rank_, parcel);
      outlet.packets().release(parcel.packet);
    }
    void handle_timeout(base::Instant, sim::Outlet&) override {}
    base::Instant next_timeout() const override { return base::Instant::never(); }

   private:
    Beside& beside_;
    const std::uint16_t rank_;
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
    sim::WorkerNode* const worker = made.get();
    const sim::NodeId node = network_.add_node(std::move(made));
    const sim::NodeId wire = network_.add_node(std::make_unique<Wire>(*this, rank));
    std::vector<sim::PathId> up;
    std::vector<sim::PathId> down;
    for (std::size_t site = 0; site < plan.trees.size(); ++site) {
      up.push_back(add_path(node, wire, site));
      down.push_back(add_path(wire, node, site));
    }
    worker->connect(up, nullptr, &network_);
    workers_.push_back(worker);
    down_.push_back(std::move(down));
  }

  sim::PathId add_path(sim::NodeId from, sim::NodeId to, std::size_t site) {
    sim::Path path;
    path.source = from;
    path.site = static_cast<std::uint8_t>(site);
    path.append(to);
    return network_.add_path(path);
  }

  void take(base::Instant now, std::uint16_t rank, const sim::Parcel& parcel) {
    now_ = now;
    const std::uint8_t site = network_.path(parcel.path).site;
    const std::span<const std::byte> datagram = network_.packets().bytes(parcel.packet);
    note(ways_, now, {rank, site, false}, datagram);
    job_.take(now, rank, site, datagram);
  }

  void deliver(std::uint16_t rank, std::uint8_t site, std::span<const std::byte> datagram) {
    note(ways_, now_, {rank, site, true}, datagram);
    if (network_.now() < now_) network_.advance(now_);
    const sim::PacketIndex packet = network_.packets().take();
    std::copy(datagram.begin(), datagram.end(), network_.packets().room(packet).begin());
    network_.packets().set_bytes(packet, datagram.size());
    network_.send(down_[rank][site], packet);
  }

  base::Instant now_;
  EmulatedJob job_;
  sim::Network network_;
  std::vector<sim::WorkerNode*> workers_;
  std::vector<std::vector<sim::PathId>> down_;  // by rank and site
  Ways ways_;
};

std::multiset<std::size_t> sizes_of(const Traffic& traffic) {
  std::multiset<std::size_t> sizes;
  for (const auto& [at, datagrams] : traffic) {
    for (const Datagram& each : datagrams) sizes.insert(each.size());
  }
  return sizes;
}

// Of the only call, what the plan says of the links of real ranks.
void expect_planned(const Case& drawn, const plan::Plan& plan, const Ways& ways) {
  const control::TransferNote& call = drawn.calls.front();
  std::map<Way, std::multiset<std::size_t>> planned;
  for (const plan::Message& each : plan::messages_of(
           plan, {call.collective, call.layout, call.elements, call.root, call.priority})) {
    const plan::Aggregator& above = plan.trees[each.tree].aggregators[each.aggregator];
    const plan::Child& child = above.children[each.child];
    if (!child.is_rank() || child.ranks.first >= drawn.options.real) continue;
    planned[{child.ranks.first, each.tree, each.is_down}].insert(each.bytes);
  }
  ASSERT_EQ(planned.size(), ways.size());
  for (const auto& [way, sizes] : planned) ASSERT_EQ(sizes_of(ways.at(way)), sizes);
}

TEST(EmulatedMessages, AreThoseOfRealRanksInEveryPlacement) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const Case drawn = draw(seed);
    Beside beside(drawn);
    const Ways emulated = beside.run();
    const sim::Scenario& scenario = beside.job().scenario();
    const Ways real = ways_of_real(drawn, scenario);
    ASSERT_FALSE(real.empty());
    ASSERT_EQ(emulated.size(), real.size()) << "seed " << seed;
    for (const auto& [way, traffic] : real) {
      const auto& [rank, site, is_down] = way;
      ASSERT_TRUE(emulated.at(way) == traffic)
          << "seed " << seed << ", rank " << rank << ", site " << int{site}
          << (is_down ? ", to the rank" : ", from the rank");
      compared += sizes_of(traffic).size();
    }
    if (drawn.calls.size() == 1) {
      ASSERT_NO_FATAL_FAILURE(expect_planned(drawn, scenario.plan, emulated)) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 10'000U);
}

}  // namespace
}  // namespace infold::emulate
