// SPDX-License-Identifier: Apache-2.0
//
// For tests that compare an emulated job with a job whose ranks are all real. All ranks are workers
// of this process, and time is virtual.
#pragma once

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
#include "plan/driver_shares.h"
#include "study/emulate/contribution.h"
#include "study/emulate/emulated_job.h"
#include "study/sim/nodes/tree_paths.h"
#include "wire/infold_wire.h"

namespace infold::emulate::testing {

using Datagram = std::vector<std::byte>;
// Datagrams by the time at which a party sent or received them. Datagrams of the same instant are
// not ordered, because it is chance whose packet comes first.
using Traffic = std::map<base::Instant, std::multiset<Datagram>>;
// What real ranks saw on each way, and what their sites saw.
enum class Party : std::uint8_t { rank, site };
using Ways = std::map<std::pair<Party, Way>, Traffic>;

inline void note(Ways& ways, base::Instant now, Party party, Way way,
                 std::span<const std::byte> bytes) {
  Datagram datagram(bytes.begin(), bytes.end());
  // A result names the last worker that contributed, which may be any worker of that instant.
  if (way.is_down) datagram[offsetof(infold_header, worker)] = {};
  ways[{party, way}][now].insert(std::move(datagram));
}

// Returns the rank that brings the site, if a rank does.
inline std::optional<std::uint16_t> rank_of(const plan::Plan& plan, std::size_t site) {
  return plan.trees[site].aggregators.front().rank;
}

struct Case {
  EmulationOptions options;
  join::JobTerms terms;
  std::vector<join::TransferNote> calls;
};

// Makes the call as a rank would, with generated elements.
inline sim::Call call_of(const join::TransferNote& note, std::uint16_t rank) {
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
  std::map<sim::NodeId, std::uint16_t> ranks;  // by the node of their worker or its stand-in
  std::set<sim::NodeId> workers;               // the workers of real ranks
  std::set<sim::NodeId> sites;                 // the sites of real ranks
};

// Records what real ranks and their sites send and receive.
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

inline Parties parties_of(const sim::Wiring& wiring, const plan::Plan& plan, std::uint32_t real) {
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

// Runs the calls with real ranks only, on the network that the emulated job would have.
inline Ways ways_of_real(const Case& drawn, const sim::Scenario& scenario) {
  const sim::Job no_calls(scenario);
  sim::Wiring wiring = sim::wire(scenario, no_calls);
  Listener listener(parties_of(wiring, scenario.plan, drawn.options.real));
  wiring.network->add_observer(&listener);
  for (std::uint16_t rank = 0; rank < drawn.options.ranks; ++rank) {
    for (const join::TransferNote& each : drawn.calls) {
      wiring.workers[rank]->add_call(call_of(each, rank));
    }
    wiring.network->wake(wiring.worker_nodes[rank]);
  }
  while (wiring.network->step(base::Instant{} + base::seconds(100))) {
  }
  for (const sim::WorkerNode* const worker : wiring.workers) EXPECT_TRUE(worker->finished());
  return listener.ways();
}

// Real ranks and their sites beside an emulated job. Wires without delay join them to it, in place
// of sockets. A real switch, if it sums, is also outside the job, and real parties then send to
// each other directly, over links of their own.
class Beside {
 public:
  explicit Beside(const Case& drawn)
      : job_(drawn.options, drawn.terms, base::Instant{},
             [this](Way way, std::span<const std::byte> datagram) { deliver(way, datagram); }),
        real_(drawn.options.real),
        at_switch_(drawn.options.real_switch.is_set()),
        network_({.node_count_max = 4 * real_ + drawn.options.ranks + 66,
                  .packet_count_max = 20'000,
                  .parcel_count_max = 20'000,
                  .packet_bytes_max = drawn.terms.datagram_bytes_max}) {
    far_sites_ = network_.add_node(std::make_unique<Wire>(*this));
    for (std::uint16_t rank = 0; rank < real_; ++rank) add_rank(rank, drawn.options.link);
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
    for (const join::TransferNote& each : drawn.calls) {
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

  void add_rank(std::uint16_t rank, const sim::LinkOptions& link) {
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
    links_.emplace_back();
    if (!at_switch_) return;
    for (std::vector<sim::NodeId>* const each : {&links_.back().up, &links_.back().down}) {
      each->push_back(network_.add_node(std::make_unique<sim::Link>(link, network_.node_count())));
    }
  }

  bool is_real(std::optional<std::uint16_t> owner) const {
    return owner ? *owner < real_ : at_switch_;
  }

  // Returns null if the site is not real.
  sim::AggregatorNode* add_site(const plan::Plan& plan, std::size_t site, sim::NodeId& root) {
    const std::optional<std::uint16_t> owner = rank_of(plan, site);
    if (!is_real(owner)) return nullptr;
    auto made =
        std::make_unique<sim::AggregatorNode>(plan::aggregator_options(plan, site, 0), false);
    sim::AggregatorNode* const aggregator = made.get();
    root = network_.add_node(std::move(made));
    if (owner) parties_.sites.insert(root);
    return aggregator;
  }

  // Adds the paths between a site and all ranks, where at least one end is real.
  void add_paths(std::size_t site) {
    const plan::Plan plan = sim::plan_of(job_.scenario());
    const std::optional<std::uint16_t> owner = rank_of(plan, site);
    sim::NodeId root = far_sites_;
    sim::AggregatorNode* const aggregator = add_site(plan, site, root);
    const sim::Between above = owner && *owner < real_ ? links_[*owner] : sim::Between{};
    std::vector<sim::PathId> to_workers;
    for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
      const Way up = {rank, static_cast<std::uint8_t>(site), false};
      const Way down = {rank, static_cast<std::uint8_t>(site), true};
      const bool is_direct = aggregator != nullptr && rank < real_ && (at_switch_ || owner == rank);
      if (is_direct) {
        const bool is_own = owner == rank;  // both are in one process
        const sim::Between below = is_own ? sim::Between{} : links_[rank];
        const sim::Between end = is_own ? sim::Between{} : above;
        up_[rank].push_back(add_path(up, nodes_[rank], joined(below.up, end.down), root));
        to_workers.push_back(add_path(down, root, joined(end.up, below.down), nodes_[rank]));
        continue;
      }
      if (rank < real_) {
        up_[rank].push_back(add_path(up, nodes_[rank], links_[rank].up, far_sites_));
        in_[down] = add_path(down, far_sites_, links_[rank].down, nodes_[rank]);
      }
      if (aggregator == nullptr) continue;
      to_workers.push_back(add_path(down, root, above.up, far_ranks_[rank]));
      in_[up] = add_path(up, far_ranks_[rank], above.down, root);
    }
    if (aggregator != nullptr) aggregator->connect(std::move(to_workers), std::nullopt);
  }

  static std::vector<sim::NodeId> joined(std::vector<sim::NodeId> first,
                                         const std::vector<sim::NodeId>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  sim::PathId add_path(Way way, sim::NodeId from, const std::vector<sim::NodeId>& between,
                       sim::NodeId to) {
    const sim::PathId path = sim::add_path(network_, way.site, from, between, to);
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
  const bool at_switch_;
  sim::Network network_;
  std::vector<sim::WorkerNode*> workers_;
  std::vector<sim::NodeId> nodes_;            // the nodes of workers
  std::vector<std::vector<sim::PathId>> up_;  // by real rank and site
  std::vector<sim::Between> links_;           // the links of real ranks, at a real switch
  sim::NodeId far_sites_ = 0;                 // the wire to sites that are not real
  std::vector<sim::NodeId> far_ranks_;        // the wires that stand for workers, as the sites of
                                              // real ranks see them
  std::map<Way, sim::PathId> in_;             // the paths that begin at a wire
  std::map<sim::PathId, Way> ways_of_paths_;
  Parties parties_;
  std::optional<Listener> listener_;
};

inline std::multiset<std::size_t> sizes_of(const Traffic& traffic) {
  std::multiset<std::size_t> sizes;
  for (const auto& [at, datagrams] : traffic) {
    for (const Datagram& each : datagrams) sizes.insert(each.size());
  }
  return sizes;
}

inline base::Instant end_of(const Ways& ways) {
  base::Instant end;
  for (const auto& [seen, traffic] : ways) end = std::max(end, traffic.rbegin()->first);
  return end;
}

}  // namespace infold::emulate::testing
