// SPDX-License-Identifier: Apache-2.0
//
// Plays the traces of all ranks in virtual time: computes take their durations, and calls the time
// that the network needs. The dependencies are those of the traces.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace.h"
#include "whatif/calls/calls.h"
#include "whatif/groups.h"

namespace infold::whatif {

struct PlaybackOptions {
  // Other ranks than those that play may take part. Empty: the ranks that play are one group.
  Groups groups;
  // A compute takes so much longer while calls of its rank move: 0.2 is a fifth.
  double interference = 0;
  // Asked now and then; true ends the playback.
  std::function<bool()> stop;
};

// Returns the traces with the times of the playback, which begins at 0. Rank r plays traces[r]. The
// error says why the calls cannot end. Requires: trace::find_unplayable() finds nothing, and the
// ranks of each group agree on their calls. If there are several groups, each call has one of them.
tl::expected<std::vector<trace::Trace>, std::string> play(
    std::span<const trace::Trace* const> traces, Calls& calls, const PlaybackOptions& options);

}  // namespace infold::whatif
