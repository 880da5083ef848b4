// SPDX-License-Identifier: Apache-2.0
//
// Plays the traces of all ranks in virtual time. Computes take their recorded durations, and calls
// take the time that the network needs. The dependencies come from the traces.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "study/whatif/calls/calls.h"
#include "study/whatif/groups.h"
#include "trace/trace.h"

namespace infold::whatif {

struct PlaybackOptions {
  // Groups may also contain ranks that do not play. Empty: the ranks that play are one group.
  Groups groups;
  // How much longer a compute takes while calls of its rank are under way; 0.2 means a fifth.
  double interference = 0;
  // Called every now and then; true ends the playback.
  std::function<bool()> stop;
};

// Returns the traces with the times of the playback, which begins at 0. Rank r plays traces[r]. An
// error says why the calls cannot end. Requires: trace::find_unplayable() finds nothing, and the
// ranks of each group agree on their calls. If there are several groups, each call belongs to one
// of them.
tl::expected<std::vector<trace::Trace>, std::string> play(
    std::span<const trace::Trace* const> traces, Calls& calls, const PlaybackOptions& options);

}  // namespace infold::whatif
