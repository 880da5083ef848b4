// SPDX-License-Identifier: Apache-2.0
//
// Calls on the simulator: the product's workers and aggregators, on links with queues and losses.
// Ranks contribute zeros.
#pragma once

#include <deque>
#include <map>
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

  // Packets that all parties have sent.
  std::uint64_t packets() const { return wiring_.network->counters().sent; }

 private:
  struct Shape {
    std::vector<core::TransferRequest> transfers;
    std::vector<core::ElementLayout> layouts;  // of each; the transfers refer to them
  };

  const Shape& shape_of(const trace::CallShape& shape);

  const Setting setting_;
  const sim::Scenario scenario_;
  const sim::Job no_calls_;
  sim::Wiring wiring_;
  std::map<trace::CallShape, Shape> shapes_;
  std::vector<std::uint32_t> made_;                         // calls of each rank
  std::vector<std::map<std::uint32_t, std::size_t>> left_;  // transfers of calls that move, by rank
  std::vector<Ended> ended_;
};

// The plan of the setting's place, and the link of each rank.
plan::Plan plan_of(const Setting& setting);
sim::LinkOptions link_of(const Setting& setting);

// Why no machines can be made for this setting, or nothing.
std::optional<std::string> find_obstacle(const Setting& setting);

}  // namespace infold::whatif
