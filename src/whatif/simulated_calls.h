// SPDX-License-Identifier: Apache-2.0
//
// Calls on the simulator: the product's workers and aggregators, on links with queues and losses.
// Ranks contribute zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/nodes/wiring.h"
#include "whatif/calls.h"

namespace infold::whatif {

class SimulatedCalls final : public Calls {
 public:
  // Requires: find_obstacle() finds nothing.
  explicit SimulatedCalls(const Setting& setting);

  void begin(base::Instant now, std::uint16_t rank, const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<Ended>& ended) override;

 private:
  const Setting setting_;
  const sim::Scenario scenario_;
  const sim::Job no_calls_;
  sim::Wiring wiring_;
  std::vector<std::uint32_t> made_;  // calls of each rank
  std::uint64_t moving_ = 0;         // of all ranks
  std::vector<Ended> ended_;
};

// The plan of the setting's place, and the link of each rank.
plan::Plan plan_of(const Setting& setting);
sim::LinkOptions link_of(const Setting& setting);

// Why no machines can be made for this setting, or nothing.
std::optional<std::string> find_obstacle(const Setting& setting);

}  // namespace infold::whatif
