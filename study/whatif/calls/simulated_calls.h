// SPDX-License-Identifier: Apache-2.0
//
// Runs calls on the simulator: the product's workers and aggregators, on links with queues and
// losses. Each group has separate machines, and all groups of a rank share its link. Ranks
// contribute zeros.
#pragma once

#include <cstdint>
#include <vector>

#include "study/sim/cluster/cluster.h"
#include "study/whatif/calls/calls.h"
#include "study/whatif/calls/layout.h"

namespace infold::whatif {

class SimulatedCalls final : public Calls {
 public:
  // Requires: plans_of() returns no error.
  SimulatedCalls(const Setting& setting, const Groups& groups)
      : SimulatedCalls(setting, groups, plans_of(setting, groups).value()) {}

  void begin(base::Instant now, const RankCall& call, const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<RankCall>& ended) override;

 private:
  SimulatedCalls(const Setting& setting, const Groups& groups,
                 const std::vector<plan::Plan>& plans);

  struct GroupMachines {
    Setting setting;  // for a network with this group alone
    std::vector<std::uint16_t> ranks;
    sim::JobMachines job;  // empty for a lone rank
    // How many calls each member has begun and ended.
    std::vector<std::uint64_t> begun;
    std::vector<std::uint64_t> ended;

    bool waits_for_a_member() const;
  };
  // Returns true if some calls are under way, and each of them lacks a member. The machines would
  // ask for that member forever.
  bool is_stuck() const;

  sim::Cluster cluster_;
  std::vector<GroupMachines> groups_;
  std::vector<RankCall> ended_;
};

}  // namespace infold::whatif
