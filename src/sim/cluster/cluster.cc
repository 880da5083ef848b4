// SPDX-License-Identifier: Apache-2.0
//
// Builds links, and puts jobs on them.
#include "sim/cluster/cluster.h"

#include <algorithm>

#include "base/check.h"
#include "sim/network/faults.h"

namespace infold::sim {
namespace {

// A multicast is one packet, and as many parcels as an aggregator has workers.
constexpr std::uint32_t kParcelsPerPacket = 2;
// Of a host: a link in each direction, and the jitter. A rack has two links.
constexpr std::uint32_t kNodesPerHost = 3;
constexpr std::uint32_t kNodesPerRack = 2;

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
  const std::uint64_t nodes = kNodesPerHost * hosts + std::uint64_t{kNodesPerRack} * options.racks +
                              options.endpoint_count_max;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(nodes, kNodesMax + 1));
}

Cluster::Cluster(const ClusterOptions& options)
    : options_(options), random_(base::mix64(options.seed)), network_(network_options(options)) {
  const std::size_t hosts = std::size_t{options.racks} * options.hosts_per_rack;
  for (std::size_t host = 0; host < hosts; ++host) {
    Port& port = hosts_.emplace_back(add_port(options.host_link));
    if (options.jitter_max.ns == 0) continue;
    const FaultOptions late{.jitter_max = options.jitter_max};
    port.up.push_back(
        network_.add_node(std::make_unique<Faults>(late, random_.next(), network_.node_count())));
  }
  for (RackIndex rack = 0; rack < options.racks; ++rack) {
    racks_.push_back(options.racks > 1 ? add_port(options.rack_link) : Port{});
  }
}

Cluster::Port Cluster::add_port(const LinkOptions& options) {
  Port port;
  auto up = std::make_unique<Link>(options, network_.node_count());
  port.links.up = up.get();
  port.up = {network_.add_node(std::move(up))};
  auto down = std::make_unique<Link>(options, network_.node_count());
  port.links.down = down.get();
  port.down = {network_.add_node(std::move(down))};
  return port;
}

plan::Tree Cluster::tree_on(std::span<const HostIndex> hosts) const {
  const auto world = static_cast<std::uint16_t>(hosts.size());
  std::vector<core::RankRange> racks;
  for (std::uint16_t first = 0; first < world;) {
    const auto is_elsewhere = [&](HostIndex host) {
      return rack_of(host) != rack_of(hosts[first]);
    };
    const auto end = std::find_if(hosts.begin() + first, hosts.end(), is_elsewhere);
    const auto count = static_cast<std::uint16_t>(end - hosts.begin() - first);
    if (count == world) return plan::flat_tree(world);
    // A rank that is alone in its rack is the spine's worker.
    if (count > 1) racks.push_back({first, count});
    first = static_cast<std::uint16_t>(first + count);
  }
  return plan::tree_of(world, {}, racks);
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

JobMachines Cluster::add_job(const plan::Plan& plan, std::span<const HostIndex> hosts,
                             const std::function<WorkerNodeOptions(std::uint16_t rank)>& worker) {
  CHECK_THAT(plan.trees.size(), ==, 1U);
  CHECK_THAT(hosts.size(), ==, plan.world);
  const plan::Tree& tree = plan.trees.front();
  JobMachines job;
  for (std::size_t i = 0; i < tree.aggregators.size(); ++i) {
    auto node = std::make_unique<AggregatorNode>(
        plan::aggregator_options(plan, 0, static_cast<std::uint16_t>(i)), false);
    job.aggregators.push_back(node.get());
    job.aggregator_nodes.push_back(network_.add_node(std::move(node)));
  }
  for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
    auto node = std::make_unique<WorkerNode>(worker(rank));
    job.workers.push_back(node.get());
    job.worker_nodes.push_back(network_.add_node(std::move(node)));
  }
  const auto paths = connect_tree(
      network_,
      {.tree = tree,
       .workers = job.worker_nodes,
       .aggregator_nodes = job.aggregator_nodes,
       .aggregators = job.aggregators},
      [&](std::size_t parent, const plan::Child& child) { return between(hosts, parent, child); });
  for (const RankPaths& own : paths) {
    job.workers[own.rank]->connect({own.up}, hosts_[hosts[own.rank]].links.up, &network_);
    network_.wake(job.worker_nodes[own.rank]);
  }
  return job;
}

void Cluster::remove_job(const JobMachines& job) {
  for (const NodeId node : job.worker_nodes) network_.remove_node(node);
  for (const NodeId node : job.aggregator_nodes) network_.remove_node(node);
}

}  // namespace infold::sim
