// SPDX-License-Identifier: Apache-2.0
//
// Builds the network of a scenario, lowest layer first.
#include "sim/nodes/wiring.h"

#include <algorithm>

#include "base/check.h"
#include "numeric/codec.h"
#include "plan/driver_shares.h"
#include "sim/nodes/stale.h"
#include "sim/nodes/tree_paths.h"
#include "sim/scenario/earlier_job.h"

namespace infold::sim {
namespace {

// The slots bound the packets that can be under way at once: a chunk has a contribution or an
// answer per worker and hop. Faults and timeouts multiply that. A run that needs more than these
// multiples is broken, and stops.
constexpr std::uint32_t kPacketsPerSlot = 8;
constexpr std::uint32_t kPacketsMin = 2'048;
constexpr std::uint32_t kPacketsMax = 1U << 18;
// References to packets: a multicast is one packet, and as many parcels as an aggregator has
// workers.
constexpr std::uint32_t kParcelsPerPacket = 2;

std::uint32_t packet_count_max(const Scenario& scenario) {
  const std::size_t slots = (scenario.plan.small_slots + std::size_t{scenario.plan.bulk_slots}) *
                            scenario.plan.trees.size() * scenario.plan.world;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(
      slots * kPacketsPerSlot + scenario.stale_packets + replays_of(scenario), kPacketsMin,
      kPacketsMax));
}

// The lower end of an edge: its own link and faults in each direction.
struct Port {
  std::optional<NodeId> up_link;
  std::optional<NodeId> up_faults;
  std::optional<NodeId> down_link;
  std::optional<NodeId> down_faults;
  const Link* uplink = nullptr;
};

// An aggregator's own link, if the aggregator is a host and not a switch.
struct HostPort {
  std::optional<NodeId> in;
  std::optional<NodeId> out;
};

class Builder {
 public:
  Builder(const Scenario& scenario, const Job& job, const Portals& portals)
      : scenario_(scenario),
        portals_(portals),
        plan_(plan_of(scenario)),
        job_(job),
        random_(base::mix64(scenario.seed ^ 0x51A1)) {
    std::size_t aggregators = 0;
    for (const plan::Tree& site : scenario.plan.trees) aggregators += site.aggregators.size();
    const std::size_t endpoints = scenario.plan.world + aggregators;
    wiring_.network = std::make_unique<Network>(
        NetworkOptions{.node_count_max = static_cast<std::uint32_t>(7 * endpoints + 2),
                       .packet_count_max = packet_count_max(scenario),
                       .parcel_count_max = packet_count_max(scenario) * kParcelsPerPacket,
                       .packet_bytes_max = scenario.plan.datagram_bytes_max});
  }

  Wiring build() {
    for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
      rank < portals_.ranks ? add_portal(rank) : add_worker(rank);
    }
    for (std::size_t site = 0; site < scenario_.plan.trees.size(); ++site) add_site(site);
    for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
      if (wiring_.workers[rank] == nullptr) continue;
      wiring_.workers[rank]->connect(to_sites_[rank], worker_ports_[rank].uplink,
                                     wiring_.network.get());
    }
    if (scenario_.stale_packets > 0) add_stale_packets();
    if (scenario_.earlier) add(std::make_unique<Replayer>(scenario_, *wiring_.network));
    wiring_.network->start();
    wiring_.to_sites = std::move(to_sites_);
    return std::move(wiring_);
  }

 private:
  NodeId add(std::unique_ptr<Node> node) { return wiring_.network->add_node(std::move(node)); }
  // The number of the node that is added next.
  NodeId next_node() const { return wiring_.network->node_count(); }

  std::optional<NodeId> add_link(const LinkOptions& options, const Link** link = nullptr) {
    if (options.bits_per_second == 0 && options.delay.ns == 0) return std::nullopt;
    auto node = std::make_unique<Link>(options, next_node());
    wiring_.links.push_back(node.get());
    if (link != nullptr && options.bits_per_second > 0) *link = node.get();
    return add(std::move(node));
  }

  std::optional<NodeId> add_faults(FaultOptions faults) {
    if (!faults.any()) return std::nullopt;
    if (scenario_.asymmetric) {
      const double luck = 2 * random_.uniform();
      for (double* each : {&faults.loss, &faults.burst_start, &faults.duplicate, &faults.reorder,
                           &faults.corrupt}) {
        *each = std::min(*each * luck, 0.3);
      }
    }
    return add(std::make_unique<Faults>(faults, random_.next(), next_node()));
  }

  Port add_port() {
    Port port;
    port.up_link = add_link(scenario_.link, &port.uplink);
    port.up_faults = add_faults(scenario_.up);
    port.down_link = add_link(scenario_.link);
    port.down_faults = add_faults(scenario_.down);
    return port;
  }

  HostPort add_host_port() {
    if (!scenario_.aggregators_are_hosts) return {};
    LinkOptions link = scenario_.link;
    link.delay = {};
    return {add_link(link), add_link(link)};
  }

  void add_worker(std::uint16_t rank) {
    core::WorkerOptions options = plan::worker_options(plan_, rank);
    options.check_period = scenario_.check_period;
    options.window_max = scenario_.window_max;
    options.transfers_max = scenario_.transfers_max;
    options.seed = base::mix64(scenario_.seed + rank);
    WorkerNodeOptions node_options;
    node_options.worker = options;
    const std::uint32_t drivers = rank < scenario_.drivers.size() ? scenario_.drivers[rank] : 1;
    node_options.shares = plan::driver_shares(plan_, drivers);
    node_options.calls = job_.calls_of(rank);
    node_options.leave_when_done = scenario_.leave_when_done;
    node_options.host_queue_bytes = scenario_.host_queue_bytes;
    node_options.receive_queue_packets = scenario_.receive_queue_packets;
    for (const PausePlan& pause : scenario_.pauses) {
      if (pause.rank == rank) node_options.pauses.push_back({pause.from, pause.until});
    }
    const Incident& incident = scenario_.incident;
    const bool ends =
        incident.kind == Incident::Kind::cancels || incident.kind == Incident::Kind::leaves;
    if (ends && incident.rank == rank) {
      base::Instant at = base::Instant{} + incident.after;
      if (!scenario_.starts.empty()) at = at + scenario_.starts[rank];
      const auto kind =
          incident.kind == Incident::Kind::cancels ? Ending::Kind::cancel : Ending::Kind::leave;
      node_options.ending = {kind, at};
    }
    auto node = std::make_unique<WorkerNode>(std::move(node_options));
    wiring_.workers.push_back(node.get());
    wiring_.worker_nodes.push_back(add(std::move(node)));
    worker_ports_.push_back(add_port());
    to_sites_.emplace_back();
  }

  void add_portal(std::uint16_t rank) {
    wiring_.workers.push_back(nullptr);
    wiring_.worker_nodes.push_back(add(portals_.make(rank)));
    worker_ports_.push_back(portals_.have_links ? add_port() : Port{});
    to_sites_.emplace_back();
  }

  void add_site(std::size_t site) {
    auto& nodes = wiring_.aggregator_nodes.emplace_back();
    auto& aggregators = wiring_.aggregators.emplace_back();
    std::vector<Port> ports;
    std::vector<HostPort> host_ports;
    for (std::size_t i = 0; i < plan_.trees[site].aggregators.size(); ++i) {
      core::AggregatorOptions options =
          plan::aggregator_options(plan_, site, static_cast<std::uint16_t>(i));
      options.check_period = scenario_.check_period;
      auto node = std::make_unique<AggregatorNode>(options);
      aggregators.push_back(node.get());
      nodes.push_back(add(std::move(node)));
      ports.push_back(i == 0 ? Port{} : add_port());
      host_ports.push_back(add_host_port());
    }
    connect_site(site, ports, host_ports);
  }

  void connect_site(std::size_t site, const std::vector<Port>& ports,
                    const std::vector<HostPort>& host_ports) {
    const plan::Tree& tree = plan_.trees[site];
    const auto between = [&](std::size_t parent, const plan::Child& child) {
      const Port& port =
          child.is_rank() ? worker_ports_[child.ranks.first] : ports[child.aggregator];
      return Between{.up = present({port.up_link, port.up_faults, host_ports[parent].in}),
                     .down = present({host_ports[parent].out, port.down_link, port.down_faults})};
    };
    const TreeEnds ends = {.tree = tree,
                           .site = static_cast<std::uint8_t>(site),
                           .workers = wiring_.worker_nodes,
                           .aggregator_nodes = wiring_.aggregator_nodes[site],
                           .aggregators = wiring_.aggregators[site]};
    for (const RankPaths& paths : connect_tree(*wiring_.network, ends, between)) {
      to_sites_[paths.rank].push_back(paths.up);
      from_sites_.push_back(paths.down);
    }
  }

  static std::vector<NodeId> present(std::initializer_list<std::optional<NodeId>> nodes) {
    std::vector<NodeId> list;
    for (const std::optional<NodeId>& node : nodes) {
      if (node) list.push_back(*node);
    }
    return list;
  }

  void add_stale_packets() {
    std::vector<PathId> up;
    for (const auto& paths : to_sites_) up.insert(up.end(), paths.begin(), paths.end());
    add(std::make_unique<StaleSender>(scenario_, up, from_sites_));
  }

  const Scenario& scenario_;
  const Portals& portals_;
  const plan::Plan plan_;
  const Job& job_;
  base::Prng random_;
  Wiring wiring_;
  std::vector<Port> worker_ports_;
  std::vector<std::vector<PathId>> to_sites_;  // for each rank
  std::vector<PathId> from_sites_;             // to any rank
};

}  // namespace

Wiring wire(const Scenario& scenario, const Job& job, const Portals& portals) {
  return Builder(scenario, job, portals).build();
}

}  // namespace infold::sim
