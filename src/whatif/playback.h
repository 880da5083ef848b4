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
#include "whatif/calls.h"

namespace infold::whatif {

struct PlaybackOptions {
  // Ranks of the job, if others than those that play take part; 0: none do.
  std::uint16_t world = 0;
  // A compute takes so much longer while calls of its rank move: 0.2 is a fifth.
  double interference = 0;
  // Asked now and then; true ends the playback.
  std::function<bool()> stop;
};

// Returns the traces with the times of the playback, which begins at 0. Rank r plays traces[r]. The
// error says why the calls cannot end. Requires: trace::find_unplayable() finds nothing, and all
// ranks agree on their calls.
tl::expected<std::vector<trace::Trace>, std::string> play(
    std::span<const trace::Trace* const> traces, Calls& calls, const PlaybackOptions& options);

}  // namespace infold::whatif
