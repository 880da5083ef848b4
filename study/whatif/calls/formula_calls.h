// SPDX-License-Identifier: Apache-2.0
//
// Computes calls by a formula. A call begins when its group has made it, the group's earlier calls
// have left the links, and the links of its ranks are free for long enough. It keeps the links busy
// for its bytes, and ends one latency later at the ranks of the group.
#pragma once

#include <map>
#include <vector>

#include "study/whatif/calls/calls.h"

namespace infold::whatif {

struct Cost {
  base::Duration links;    // time of the busiest link
  base::Duration latency;  // from the last byte on the link to the result
};

// Returns the cost of a call of all ranks. Requires: a place that the formula knows, which is any
// but racks and hosts.
Cost cost_of(const Setting& setting, const trace::CallShape& shape);

class FormulaCalls final : public Calls {
 public:
  FormulaCalls(const Setting& setting, const Groups& groups);

  void begin(base::Instant now, const RankCall& call, const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<RankCall>& ended) override;

 private:
  struct Made {
    trace::CallShape shape;
    std::vector<RankCall> by;  // the ranks that have made the call
  };

  struct GroupState {
    Setting setting;                            // for a network with this group alone
    std::map<std::uint16_t, std::size_t> made;  // calls of each rank
    std::vector<Made> calls;
    base::Instant links_free_at;
    base::Instant last_ends_at;  // calls of a group end in their order
  };
  using Busy = std::map<base::Instant, base::Instant>;  // from and to, without overlaps

  static void forget(base::Instant now, Busy& busy);
  // Returns the first moment from `begin` on at which the links of these ranks are free for this
  // long.
  base::Instant first_free(base::Instant begin, base::Duration length,
                           const std::vector<RankCall>& calls) const;

  std::vector<GroupState> groups_;
  bool is_broken_ = false;                                      // ranks do not make the same calls
  std::vector<Busy> links_;                                     // for each rank
  std::multimap<base::Instant, std::vector<RankCall>> moving_;  // by their ends
};

}  // namespace infold::whatif
