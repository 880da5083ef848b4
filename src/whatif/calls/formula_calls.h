// SPDX-License-Identifier: Apache-2.0
//
// Calls by a formula: a call begins when its group has made it, the group's calls before have left
// the links, and no other call is on the links of these ranks for so long. It keeps the links busy
// for its bytes, and ends a latency later at the ranks of the group.
#pragma once

#include <map>
#include <vector>

#include "whatif/calls/calls.h"

namespace infold::whatif {

struct Cost {
  base::Duration links;    // time of the busiest link
  base::Duration latency;  // from the last byte on the link to the result
};

// Of a call of all ranks. Requires: a place that the formula knows: all but racks and hosts.
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
    Setting setting;                            // of a network with this group alone
    std::map<std::uint16_t, std::size_t> made;  // calls of each rank
    std::vector<Made> calls;
    base::Instant links_free_at;
    base::Instant last_ends_at;  // calls of a group end in their order
  };
  using Busy = std::map<base::Instant, base::Instant>;  // from, to; side by side

  static void forget(base::Instant now, Busy& busy);
  // The first moment from `begin` on at which the links of these ranks are free for so long.
  base::Instant first_free(base::Instant begin, base::Duration length,
                           const std::vector<RankCall>& calls) const;

  std::vector<GroupState> groups_;
  bool is_broken_ = false;                                      // ranks do not make the same calls
  std::vector<Busy> links_;                                     // of each rank
  std::multimap<base::Instant, std::vector<RankCall>> moving_;  // by their ends
};

}  // namespace infold::whatif
