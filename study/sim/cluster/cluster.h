// SPDX-License-Identifier: Apache-2.0
//
// Hosts in racks, and the jobs that share their links. Each host has a link to its rack's switch.
// With several racks, each switch has a link to a spine. A job may arrive at any time. Its ranks
// sum at their rack's switch, or at the switches of several racks and the spine. In a cluster with
// one rack they may also sum at servers, or at their own hosts.
//
//   worker ---> host's link ---> rack's switch ---> rack's link ---> spine      (and back)
//   worker ---> host's link ---> server's link or another host's ---> aggregator
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/prng.h"
#include "plan/plan.h"
#include "study/sim/network/faults.h"
#include "study/sim/network/link.h"
#include "study/sim/network/network.h"
#include "study/sim/nodes/aggregator_node.h"
#include "study/sim/nodes/tree_paths.h"
#include "study/sim/nodes/worker_node.h"

namespace infold::sim {

using HostIndex = std::uint16_t;
using RackIndex = std::uint16_t;

struct ClusterOptions {
  std::uint16_t racks = 1;
  std::uint16_t hosts_per_rack = 4;
  LinkOptions host_link;
  LinkOptions rack_link;
  std::uint16_t servers = 0;  // beside the hosts, for aggregators
  LinkOptions server_link;
  base::Duration jitter_max;  // for each packet from a host to its switch
  double loss = 0;            // probability for each packet, at each link of a host or rack
  std::uint64_t seed = 1;     // for the jitter and the losses
  // The number of workers and aggregators of all jobs that will ever come.
  std::uint32_t endpoint_count_max = 256;
  std::uint32_t packet_count_max = 1U << 17;
  std::uint32_t datagram_bytes_max = 1'472;
};

// Returns the number of nodes of a cluster with these options, or more than kNodesMax.
std::uint32_t node_count(const ClusterOptions& options);

// Returns where the ranks on these hosts sum if they sum at switches. Requires: the ranks of a rack
// have consecutive numbers.
plan::Tree tree_on(const ClusterOptions& options, std::span<const HostIndex> hosts);

// The machines of one job, which the network owns.
struct JobMachines {
  std::vector<WorkerNode*> workers;  // by rank
  std::vector<NodeId> worker_nodes;
  std::vector<AggregatorNode*> aggregators;  // by tree, in the tree's order
  std::vector<NodeId> aggregator_nodes;
};

class Cluster {
 public:
  // The two directions of a link, or null if there is none.
  struct LinkPair {
    const Link* up = nullptr;
    const Link* down = nullptr;
  };

  // Requires: node_count(options) <= kNodesMax.
  explicit Cluster(const ClusterOptions& options);

  const ClusterOptions& options() const { return options_; }
  HostIndex host_count() const { return static_cast<HostIndex>(hosts_.size()); }
  RackIndex rack_of(HostIndex host) const {
    return static_cast<RackIndex>(host / options_.hosts_per_rack);
  }

  plan::Tree tree_on(std::span<const HostIndex> hosts) const {
    return sim::tree_on(options_, hosts);
  }
  // Adds the machines of a job whose rank R is on hosts[R]. Requires: the plan has only the tree
  // that tree_on(hosts) returns, or all its trees are flat. In flat trees, the root of tree T is at
  // server T, or at the host of its rank.
  JobMachines add_job(const plan::Plan& plan, std::span<const HostIndex> hosts,
                      const std::function<WorkerNodeOptions(std::uint16_t rank)>& worker);

  // Call this when the job is over. Frees its machines.
  void remove_job(const JobMachines& job);

  Network& network() { return network_; }
  const Network& network() const { return network_; }
  LinkPair host_links(HostIndex host) const { return hosts_[host].links; }
  LinkPair rack_links(RackIndex rack) const { return racks_[rack].links; }

 private:
  // The link comes first in each direction.
  struct Port {
    LinkPair links;
    std::vector<NodeId> up;
    std::vector<NodeId> down;
  };

  Port add_port(const LinkOptions& link, const FaultOptions& up, const FaultOptions& down);
  void add_faults(std::vector<NodeId>& behind, const FaultOptions& faults);
  std::vector<RankPaths> add_tree(const plan::Plan& plan, std::size_t number,
                                  std::span<const HostIndex> hosts, JobMachines& job);
  Between between(std::span<const HostIndex> hosts, std::size_t parent,
                  const plan::Child& child) const;
  Between between_flat(const plan::Tree& tree, std::size_t number, std::span<const HostIndex> hosts,
                       std::uint16_t rank) const;

  ClusterOptions options_;
  base::Prng random_;
  Network network_;
  std::vector<Port> hosts_;
  std::vector<Port> racks_;  // without links if there is one rack
  std::vector<Port> servers_;
};

}  // namespace infold::sim
