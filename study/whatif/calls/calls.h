// SPDX-License-Identifier: Apache-2.0
//
// The interface of all models of a network: the calls of all ranks go in at their times, and their
// ends come out. Time is virtual and never goes back. Used by one thread.
//
// The members of a group make equal calls in the same order. A rank may make a call while other
// calls of it are under way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tl/expected.hpp>

#include "base/instant.h"
#include "study/whatif/groups.h"
#include "study/whatif/setting.h"
#include "trace/call_shape.h"

namespace infold::whatif {

// Calls are counted from 0 at each rank.
struct RankCall {
  std::uint16_t rank = 0;
  std::uint16_t group = 0;
  std::uint32_t number = 0;
};

class Calls {
 public:
  virtual ~Calls() = default;
  // Requires: run() has returned `now`, or nothing has begun. The rank is in the group.
  virtual void begin(base::Instant now, const RankCall& call, const trace::CallShape& shape) = 0;
  // Moves time forward, at most to `limit` and not beyond the first moment at which calls end. Adds
  // these calls to `ended` and returns the time. Returns never() if no call can end any more.
  virtual base::Instant run(base::Instant limit, std::vector<RankCall>& ended) = 0;
};

// An error says why nobody can build this network.
tl::expected<std::unique_ptr<Calls>, std::string> make_calls(const Setting& setting,
                                                             const Groups& groups);

}  // namespace infold::whatif
