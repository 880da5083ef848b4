// SPDX-License-Identifier: Apache-2.0
//
// Makes a network from a scenario: nodes, and the paths that join them.
//
//   rank ---> link ---> faults ---> [aggregator's host link] ---> aggregator     (towards the root)
//   rank <--- faults <--- link <--- [aggregator's host link] <--- aggregator     (towards workers)
//
// A packet from a rank to a site at a rank of another rack also crosses the links and faults of
// both racks.
//
// The link and the faults belong to the lower end, as a port of a switch does. A worker has one of
// each for all its sites, because it has one port. Racks and hosts also have one of each if the
// scenario gives them links. The queue of a host's link towards the root drops nothing. A portal
// has a host's queue before its link (study/sim/network/host_queue.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "study/sim/network/network.h"
#include "study/sim/nodes/aggregator_node.h"
#include "study/sim/nodes/worker_node.h"
#include "study/sim/scenario/job.h"
#include "study/sim/scenario/scenario.h"

namespace infold::sim {

struct Wiring {
  std::unique_ptr<LastRead> last_read;  // shared by the workers
  std::unique_ptr<Network> network;
  std::vector<WorkerNode*> workers;                       // by rank; null: a portal
  std::vector<std::vector<PathId>> to_sites;              // for each rank
  std::vector<std::vector<PathId>> from_sites;            // for each rank
  std::vector<std::vector<AggregatorNode*>> aggregators;  // by site, in the plan's order
  std::vector<NodeId> worker_nodes;
  std::vector<std::vector<NodeId>> aggregator_nodes;
  std::vector<const Link*> links;  // all links, whose queues are read
};

// The first ranks may be elsewhere, together with the sites that they bring. Nodes that pass
// packets on then replace their workers and these sites.
struct Portals {
  std::uint16_t ranks = 0;
  bool have_links = true;  // false: links and faults are also elsewhere
  // True if the sites of switches are also elsewhere. Traffic between two parties that are
  // elsewhere does not come here. Requires: all other ranks are directly below the roots.
  bool have_switches = false;
  std::function<std::unique_ptr<Node>()> make = {};
};

Wiring wire(const Scenario& scenario, const Job& job, const Portals& portals = {});

}  // namespace infold::sim
