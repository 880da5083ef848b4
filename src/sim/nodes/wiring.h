// SPDX-License-Identifier: Apache-2.0
//
// Makes a network from a scenario: nodes, and the paths that join them.
//
//   rank ---> link ---> faults ---> [aggregator's host link] ---> aggregator     (towards the root)
//   rank <--- faults <--- link <--- [aggregator's host link] <--- aggregator     (towards workers)
//
// Between a rank and a site at a rank of another rack are also the links and faults of both racks.
//
// The link and the faults belong to the lower end, as a port of a switch does; a worker has one of
// each for all its sites, because it has one port. So have racks and hosts where the scenario has
// links of theirs. The queue of a host's link towards the root drops nothing. Before the link of a
// portal is a host's queue (sim/network/host_queue.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/network/network.h"
#include "sim/nodes/aggregator_node.h"
#include "sim/nodes/worker_node.h"
#include "sim/scenario/job.h"
#include "sim/scenario/scenario.h"

namespace infold::sim {

struct Wiring {
  std::unique_ptr<LastRead> last_read;  // of the workers
  std::unique_ptr<Network> network;
  std::vector<WorkerNode*> workers;                       // by rank; null: a portal
  std::vector<std::vector<PathId>> to_sites;              // of each rank
  std::vector<std::vector<PathId>> from_sites;            // likewise
  std::vector<std::vector<AggregatorNode*>> aggregators;  // by site, in the plan's order
  std::vector<NodeId> worker_nodes;
  std::vector<std::vector<NodeId>> aggregator_nodes;
  std::vector<const Link*> links;  // all links, whose queues are read
};

// The first ranks may be elsewhere, with the sites that they bring. In place of their workers and
// of these sites are nodes that pass packets on.
struct Portals {
  std::uint16_t ranks = 0;
  bool have_links = true;  // false: links and faults are elsewhere, too
  // The sites of switches are elsewhere, too. What travels between parties that are elsewhere does
  // not come here. Requires: all other ranks are directly below the roots.
  bool have_switches = false;
  std::function<std::unique_ptr<Node>()> make = {};
};

Wiring wire(const Scenario& scenario, const Job& job, const Portals& portals = {});

}  // namespace infold::sim
