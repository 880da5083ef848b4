// SPDX-License-Identifier: Apache-2.0
//
// Builds the network of a scenario, lowest layer first.
#include "study/sim/nodes/wiring.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "numeric/codec.h"
#include "plan/driver_shares.h"
#include "study/sim/network/host_queue.h"
#include "study/sim/nodes/stale.h"
#include "study/sim/nodes/tree_paths.h"
#include "study/sim/scenario/earlier_job.h"

namespace infold::sim {
namespace {

// The slots limit the packets that can be under way at once: a chunk has a contribution or an
// answer per worker and hop. Faults and timeouts multiply that. A run that needs more than these
// multiples is broken and stops.
constexpr std::uint32_t kPacketsPerSlot = 8;
constexpr std::uint32_t kPacketsMin = 2'048;
constexpr std::uint32_t kPacketsMax = 1U << 18;
// References to packets. A multicast is one packet, with as many parcels as an aggregator has
// workers.
constexpr std::uint32_t kParcelsPerPacket = 2;
// More than all slots of a job hold.
constexpr std::int64_t kQueueOfLeader = std::int64_t{1} << 32;

std::uint32_t packet_count_max(const Scenario& scenario) {
  const std::size_t slots = (scenario.plan.small_slots + std::size_t{scenario.plan.bulk_slots}) *
                            scenario.plan.trees.size() * scenario.plan.world;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(
      slots * kPacketsPerSlot + scenario.stale_packets + replays_of(scenario), kPacketsMin,
      kPacketsMax));
}

// The lower end of an edge: its own link and faults in each direction.
struct Port {
  std::optional<NodeId> host_queue;  // for a rank that is elsewhere
  std::optional<NodeId> up_link;
  std::optional<NodeId> up_faults;
  std::optional<NodeId> down_link;
  std::optional<NodeId> down_faults;
  const Link* uplink = nullptr;
};

// An aggregator's own link, if the aggregator is a host and not a switch. An aggregator at a rank
// always has the rank's link.
struct HostPort {
  std::optional<NodeId> in;
  std::optional<NodeId> out;
  std::optional<std::uint16_t> rank = {};
  // The rank's faults, for packets of ranks whose own faults are elsewhere.
  std::optional<NodeId> faults_in = {};
  std::optional<NodeId> faults_out = {};
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
    wiring_.last_read = std::make_unique<LastRead>();
    wiring_.network = std::make_unique<Network>(
        NetworkOptions{.node_count_max = static_cast<std::uint32_t>(7 * endpoints + 2),
                       .packet_count_max = packet_count_max(scenario),
                       .parcel_count_max = packet_count_max(scenario) * kParcelsPerPacket,
                       .packet_bytes_max = scenario.plan.datagram_bytes_max,
                       .fingerprints = scenario.fingerprints});
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
    wiring_.from_sites = std::move(from_sites_);
    return std::move(wiring_);
  }

 private:
  NodeId add(std::unique_ptr<Node> node) { return wiring_.network->add_node(std::move(node)); }
  // Returns the number of the node that will be added next.
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

  Port add_port(const LinkOptions& link) { return add_port(link, link); }
  Port add_port(const LinkOptions& up, const LinkOptions& down) {
    Port port;
    port.up_link = add_link(up, &port.uplink);
    port.up_faults = add_faults(scenario_.up);
    port.down_link = add_link(down);
    port.down_faults = add_faults(scenario_.down);
    return port;
  }

  // The ranks of a host share memory with their aggregator, so they have no link.
  Port add_rank_port(std::uint16_t rank) {
    if (!scenario_.lower_links) return add_port(scenario_.link);
    const plan::Tree& tree = plan_.trees.front();
    const plan::Aggregator& above = tree.aggregators[plan::position_of(tree, rank).aggregator];
    return above.place == plan::Place::host ? Port{} : add_port(scenario_.link);
  }

  Port add_lower_port(const plan::Aggregator& aggregator) {
    const std::optional<LowerLinks>& links = scenario_.lower_links;
    if (!links) return add_port(scenario_.link);
    const std::pair key = {aggregator.place, aggregator.children.front().ranks.first};
    const auto found = lower_ports_.find(key);
    if (found != lower_ports_.end()) return found->second;
    if (aggregator.place != plan::Place::host) return lower_ports_[key] = add_port(links->rack);
    // A leader whose queue is full waits and drops nothing.
    LinkOptions up = links->host;
    up.queue_bytes_max = kQueueOfLeader;
    return lower_ports_[key] = add_port(up, links->host);
  }

  HostPort add_host_port(const plan::Aggregator& aggregator) {
    if (aggregator.place == plan::Place::rank && aggregator.rank) {
      const Port& port = worker_ports_[*aggregator.rank];
      return {port.down_link, port.up_link, aggregator.rank, port.down_faults, port.up_faults};
    }
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
    node_options.last_read = wiring_.last_read.get();
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
    worker_ports_.push_back(add_rank_port(rank));
    to_sites_.emplace_back();
    from_sites_.emplace_back();
  }

  void add_portal(std::uint16_t rank) {
    wiring_.workers.push_back(nullptr);
    wiring_.worker_nodes.push_back(add(portals_.make()));
    worker_ports_.push_back(portals_.have_links ? add_rank_port(rank) : Port{});
    Port& port = worker_ports_.back();
    if (port.uplink != nullptr && scenario_.host_queue_bytes > 0) {
      port.host_queue =
          add(std::make_unique<HostQueue>(*port.uplink, scenario_.host_queue_bytes, next_node()));
    }
    to_sites_.emplace_back();
    from_sites_.emplace_back();
  }

  void add_site(std::size_t site) {
    const plan::Aggregator& root = plan_.trees[site].aggregators.front();
    const bool is_at_rank = root.place == plan::Place::rank && root.rank;
    if (is_at_rank ? *root.rank < portals_.ranks : portals_.have_switches) {
      add_site_portal(site, add_host_port(root));
      return;
    }
    auto& nodes = wiring_.aggregator_nodes.emplace_back();
    auto& aggregators = wiring_.aggregators.emplace_back();
    std::vector<Port> ports;
    std::vector<HostPort> host_ports;
    for (std::size_t i = 0; i < plan_.trees[site].aggregators.size(); ++i) {
      core::AggregatorOptions options =
          plan::aggregator_options(plan_, site, static_cast<std::uint16_t>(i));
      options.check_period = scenario_.check_period;
      auto node = std::make_unique<AggregatorNode>(options, scenario_.only_adds);
      aggregators.push_back(node.get());
      nodes.push_back(add(std::move(node)));
      ports.push_back(i == 0 ? Port{} : add_lower_port(plan_.trees[site].aggregators[i]));
      host_ports.push_back(add_host_port(plan_.trees[site].aggregators[i]));
    }
    connect_site(site, ports, host_ports);
  }

  void add_site_portal(std::size_t site, const HostPort& host) {
    const NodeId root = add(portals_.make());
    wiring_.aggregator_nodes.push_back({root});
    wiring_.aggregators.emplace_back();
    for (std::uint16_t rank = 0; rank < plan_.world; ++rank) {
      const Between between = hops_of_rank(rank, host);
      const NodeId below = wiring_.worker_nodes[rank];
      const auto number = static_cast<std::uint8_t>(site);
      Network& network = *wiring_.network;
      add_rank_paths({.rank = rank,
                      .up = add_path(network, number, below, between.up, root),
                      .down = add_path(network, number, root, between.down, below)});
    }
  }

  // Returns the nodes between the lower end of an edge and the aggregator above it, possibly out of
  // one rack and into another.
  static Between hops(const Port& port, const HostPort& host, const Port& out = {},
                      const Port& in = {}) {
    return {.up = present({port.host_queue, port.up_link, port.up_faults, out.up_link,
                           out.up_faults, in.down_link, in.down_faults, host.in, host.faults_in}),
            .down = present({host.out, host.faults_out, in.up_link, in.up_faults, out.down_link,
                             out.down_faults, port.down_link, port.down_faults})};
  }

  // Only packets to a site at a rank can leave their rack and enter another one.
  Between hops_of_rank(std::uint16_t rank, HostPort host) const {
    if (host.rank == rank) return {};  // both are in one process
    const bool has_faults = portals_.have_links || rank >= portals_.ranks;
    if (has_faults) host.faults_in = host.faults_out = std::nullopt;
    const Port& own = worker_ports_[rank];
    if (!host.rank) return hops(own, host);
    const Port* const out = find_rack_port(rank);
    const Port* const in = find_rack_port(*host.rank);
    if (out == in) return hops(own, host);
    return hops(own, host, out == nullptr ? Port{} : *out, in == nullptr ? Port{} : *in);
  }

  // Sites of switches come first, so the racks below them already have their ports.
  const Port* find_rack_port(std::uint16_t rank) const {
    if (!scenario_.lower_links) return nullptr;
    const plan::Tree& tree = plan_.trees.front();
    const plan::Aggregator& above = tree.aggregators[plan::position_of(tree, rank).aggregator];
    const auto found = lower_ports_.find({above.place, above.children.front().ranks.first});
    return found == lower_ports_.end() || above.place != plan::Place::rack ? nullptr
                                                                           : &found->second;
  }

  void add_rank_paths(const RankPaths& paths) {
    to_sites_[paths.rank].push_back(paths.up);
    from_sites_[paths.rank].push_back(paths.down);
    to_any_rank_.push_back(paths.down);
  }

  void connect_site(std::size_t site, const std::vector<Port>& ports,
                    const std::vector<HostPort>& host_ports) {
    const plan::Tree& tree = plan_.trees[site];
    const auto between = [&](std::size_t parent, const plan::Child& child) {
      const HostPort& host = host_ports[parent];
      return child.is_rank() ? hops_of_rank(child.ranks.first, host)
                             : hops(ports[child.aggregator], host);
    };
    const TreeEnds ends = {.tree = tree,
                           .site = static_cast<std::uint8_t>(site),
                           .workers = wiring_.worker_nodes,
                           .aggregator_nodes = wiring_.aggregator_nodes[site],
                           .aggregators = wiring_.aggregators[site]};
    for (const RankPaths& paths : connect_tree(*wiring_.network, ends, between)) {
      add_rank_paths(paths);
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
    add(std::make_unique<StaleSender>(scenario_, up, to_any_rank_));
  }

  const Scenario& scenario_;
  const Portals& portals_;
  const plan::Plan plan_;
  const Job& job_;
  base::Prng random_;
  Wiring wiring_;
  std::vector<Port> worker_ports_;
  std::map<std::pair<plan::Place, std::uint16_t>, Port> lower_ports_;  // by their first rank
  std::vector<std::vector<PathId>> to_sites_;                          // for each rank, by site
  std::vector<std::vector<PathId>> from_sites_;
  std::vector<PathId> to_any_rank_;
};

}  // namespace

Wiring wire(const Scenario& scenario, const Job& job, const Portals& portals) {
  return Builder(scenario, job, portals).build();
}

}  // namespace infold::sim
