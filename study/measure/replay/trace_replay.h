// SPDX-License-Identifier: Apache-2.0
//
// Replays one rank's trace on the real engine. It waits out each compute, makes each collective
// with generated data, and keeps the trace's dependencies, so collectives overlap compute as in the
// trace. Blocks the caller's thread, and has an additional thread for each group.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/communicator.h>
#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::measure {

struct ReplayOptions {
  std::uint64_t seed = 1;  // the seed of the data
  WireFormat wire = WireFormat::automatic;
  std::stop_token stop;
};

// Times in nanoseconds, from the start of the replay or of the recording.
struct ReplayedStep {
  std::uint64_t number = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t replayed_ns = 0;
};

struct ReplayReport {
  std::vector<ReplayedStep> steps;  // only for traces that tell steps apart
  std::int64_t recorded_ns = 0;     // the whole trace
  std::int64_t replayed_ns = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // the size of the inputs
};

// Starts once all ranks of all groups are present. Requires: trace::find_unplayable() finds
// nothing, and there is a communicator for each group.
tl::expected<ReplayReport, std::string> replay(
    const trace::Trace& trace,
    const std::function<Communicator&(const std::string& group)>& communicator_of,
    const ReplayOptions& options);

}  // namespace infold::measure
