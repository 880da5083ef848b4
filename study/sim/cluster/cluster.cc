// SPDX-License-Identifier: Apache-2.0
//
// Builds links, and puts jobs on them.
#include "study/sim/cluster/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace infold::sim {
namespace {

// A multicast is one packet, with as many parcels as an aggregator has workers.
constexpr std::uint32_t kParcelsPerPacket = 2;
// A link in each direction, followed by a node in each direction that delays or loses packets.
constexpr std::uint32_t kNodesPerPort = 4;
// A server's links lose nothing, because the links of hosts already do.
constexpr std::uint32_t kNodesPerServer = 2;

NetworkOptions network_options(const ClusterOptions& options) {
  return {.node_count_max = node_count(options),
          .packet_count_max = options.packet_count_max,
          .parcel_count_max = kParcelsPerPacket * options.packet_count_max,
          .packet_bytes_max = options.datagram_bytes_max,
          .fingerprints = false};
}

void append(std::vector<NodeId>& list, const std::vector<NodeId>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

std::uint32_t node_count(const ClusterOptions& options) {
  const std::uint64_t hosts = std::uint64_t{options.racks} * options.hosts_per_rack;
  const std::uint64_t nodes = kNodesPerPort * (hosts + options.racks) +
                              std::uint64_t{kNodesPerServer} * options.servers +
                              options.endpoint_count_max;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes, kNodesMax + 1));
}

plan::Tree tree_on(const ClusterOptions& options, std::span<const HostIndex> hosts) {
  const auto world = static_cast<std::uint16_t>(hosts.size());
  std::vector<core::RankRange> racks;
  for (std::uint16_t first = 0; first < world;) {
    const auto is_elsewhere = [&](HostIndex host) {
      return host / options.hosts_per_rack != hosts[first] / options.hosts_per_rack;
    };
    const auto end = std::find_if(hosts.begin() + first, hosts.end(), is_elsewhere);
    const auto count = static_cast<std::uint16_t>(end - hosts.begin() - first);
    if (count == world) return plan::flat_tree(world);
    // A rank that is alone in its rack is a worker of the spine.
    if (count > 1) racks.push_back({first, count});
    first = static_cast<std::uint16_t>(first + count);
  }
  return plan::tree_of(world, {}, racks);
}

Cluster::Cluster(const ClusterOptions& options)
    : options_(options), random_(base::mix64(options.seed)), network_(network_options(options)) {
  const std::size_t hosts = std::size_t{options.racks} * options.hosts_per_rack;
  const FaultOptions losses{.loss = options.loss};
  const FaultOptions of_host{.loss = options.loss, .jitter_max = options.jitter_max};
  for (std::size_t host = 0; host < hosts; ++host) {
    hosts_.push_back(add_port(options.host_link, of_host, losses));
  }
  for (RackIndex rack = 0; rack < options.racks; ++rack) {
    racks_.push_back(options.racks > 1 ? add_port(options.rack_link, losses, losses) : Port{});
  }
  for (std::uint16_t server = 0; server < options.servers; ++server) {
    servers_.push_back(add_port(options.server_link, {}, {}));
  }
}

Cluster::Port Cluster::add_port(const LinkOptions& options, const FaultOptions& up,
                                const FaultOptions& down) {
  Port port;
  auto up_link = std::make_unique<Link>(options, network_.node_count());
  port.links.up = up_link.get();
  port.up = {network_.add_node(std::move(up_link))};
  auto down_link = std::make_unique<Link>(options, network_.node_count());
  port.links.down = down_link.get();
  port.down = {network_.add_node(std::move(down_link))};
  add_faults(port.up, up);
  add_faults(port.down, down);
  return port;
}

void Cluster::add_faults(std::vector<NodeId>& behind, const FaultOptions& faults) {
  if (!faults.any()) return;
  behind.push_back(
      network_.add_node(std::make_unique<Faults>(faults, random_.next(), network_.node_count())));
}

Between Cluster::between(std::span<const HostIndex> hosts, std::size_t parent,
                         const plan::Child& child) const {
  const HostIndex host = hosts[child.ranks.first];
  const bool has_spine = rack_of(hosts.front()) != rack_of(hosts.back());
  const bool to_spine = parent == 0 && has_spine;
  Between nodes;
  if (child.is_rank()) nodes.up = hosts_[host].up;
  if (to_spine) {
    append(nodes.up, racks_[rack_of(host)].up);
    nodes.down = racks_[rack_of(host)].down;
  }
  if (child.is_rank()) append(nodes.down, hosts_[host].down);
  return nodes;
}

// A packet to another host or to a server crosses the links of both.
Between Cluster::between_flat(const plan::Tree& tree, std::size_t number,
                              std::span<const HostIndex> hosts, std::uint16_t rank) const {
  const plan::Aggregator& root = tree.aggregators.front();
  const Port& own = hosts_[hosts[rank]];
  Between nodes;
  if (root.rank == rank) return nodes;  // both are in one process
  nodes.up = own.up;
  if (root.place == plan::Place::rank) {
    const Port& other = hosts_[hosts[*root.rank]];
    nodes.up.push_back(other.down.front());
    nodes.down.push_back(other.up.front());
  } else {
    nodes.up.push_back(servers_[number].up.front());
    nodes.down.push_back(servers_[number].down.front());
  }
  append(nodes.down, own.down);
  return nodes;
}

JobMachines Cluster::add_job(const plan::Plan& plan, std::span<const HostIndex> hosts,
                             const std::function<WorkerNodeOptions(std::uint16_t rank)>& worker) {
  CHECK_THAT(hosts.size(), ==, plan.world);
  JobMachines job;
  for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
    auto node = std::make_unique<WorkerNode>(worker(rank));
    job.workers.push_back(node.get());
    job.worker_nodes.push_back(network_.add_node(std::move(node)));
  }
  std::vector<std::vector<PathId>> to_sites(plan.world);
  for (std::size_t tree = 0; tree < plan.trees.size(); ++tree) {
    for (const RankPaths& own : add_tree(plan, tree, hosts, job)) {
      to_sites[own.rank].push_back(own.up);
    }
  }
  for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
    // A link without a rate has no queue to look at.
    const bool has_rate = options_.host_link.bits_per_second > 0;
    const Link* const uplink = has_rate ? hosts_[hosts[rank]].links.up : nullptr;
    job.workers[rank]->connect(std::move(to_sites[rank]), uplink, &network_);
    network_.wake(job.worker_nodes[rank]);
  }
  return job;
}

std::vector<RankPaths> Cluster::add_tree(const plan::Plan& plan, std::size_t number,
                                         std::span<const HostIndex> hosts, JobMachines& job) {
  const plan::Tree& tree = plan.trees[number];
  const std::size_t first = job.aggregators.size();
  for (std::size_t i = 0; i < tree.aggregators.size(); ++i) {
    auto node = std::make_unique<AggregatorNode>(
        plan::aggregator_options(plan, number, static_cast<std::uint16_t>(i)), false);
    job.aggregators.push_back(node.get());
    job.aggregator_nodes.push_back(network_.add_node(std::move(node)));
  }
  const plan::Place place = tree.aggregators.front().place;
  const bool is_at_switches = place == plan::Place::in_path;
  return connect_tree(network_,
                      {.tree = tree,
                       .site = static_cast<std::uint8_t>(number),
                       .workers = job.worker_nodes,
                       .aggregator_nodes = std::span(job.aggregator_nodes).subspan(first),
                       .aggregators = std::span(job.aggregators).subspan(first)},
                      [&](std::size_t parent, const plan::Child& child) {
                        return is_at_switches
                                   ? between(hosts, parent, child)
                                   : between_flat(tree, number, hosts, child.ranks.first);
                      });
}

void Cluster::remove_job(const JobMachines& job) {
  for (const NodeId node : job.worker_nodes) network_.remove_node(node);
  for (const NodeId node : job.aggregator_nodes) network_.remove_node(node);
}

}  // namespace infold::sim
