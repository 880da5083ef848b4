// SPDX-License-Identifier: Apache-2.0
//
// Calls by a formula: a call begins when all ranks have made it and the call before has left the
// links. It keeps the links busy for its bytes, and ends a latency later at all ranks.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "whatif/calls.h"

namespace infold::whatif {

struct Cost {
  base::Duration links;    // time of the busiest link
  base::Duration latency;  // from the last byte on the link to the result
};

// Requires: a place that the formula knows: all but racks and hosts.
Cost cost_of(const Setting& setting, const trace::CallShape& shape);

class FormulaCalls final : public Calls {
 public:
  explicit FormulaCalls(const Setting& setting) : setting_(setting), made_(setting.ranks) {}

  void begin(base::Instant now, std::uint16_t rank, const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<Ended>& ended) override;

 private:
  struct Moving {
    std::uint32_t call = 0;
    base::Instant ends_at;
  };

  struct Made {
    trace::CallShape shape;
    std::uint16_t ranks = 0;  // that have made the call
  };

  const Setting setting_;
  std::vector<std::uint32_t> made_;  // calls of each rank
  std::vector<Made> calls_;
  bool is_broken_ = false;  // ranks do not make the same calls
  base::Instant links_free_at_;
  std::queue<Moving> moving_;  // they end in their order
};

}  // namespace infold::whatif
