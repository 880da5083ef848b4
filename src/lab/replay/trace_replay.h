// SPDX-License-Identifier: Apache-2.0
//
// Replays one rank's trace on the real engine: it waits out each compute, makes each collective
// with generated data, and keeps the trace's dependencies. So collectives overlap compute as the
// trace says. Blocks the caller's thread, and has a thread of its own for each group.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/communicator.h>
#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::lab {

struct ReplayOptions {
  std::uint64_t seed = 1;  // of the data
  WireFormat wire = WireFormat::automatic;
  std::stop_token stop;
};

// Times in nanoseconds, from the begin of the replay or the recording.
struct ReplayedStep {
  std::uint64_t number = 0;
  std::int64_t recorded_ns = 0;
  std::int64_t replayed_ns = 0;
};

struct ReplayReport {
  std::vector<ReplayedStep> steps;  // of traces that tell steps apart
  std::int64_t recorded_ns = 0;     // the whole trace
  std::int64_t replayed_ns = 0;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // of the inputs
};

// Begins once all ranks of all groups are there. Requires: trace::find_unplayable() finds nothing,
// and a communicator for each group.
tl::expected<ReplayReport, std::string> replay(
    const trace::Trace& trace,
    const std::function<Communicator&(const std::string& group)>& communicator_of,
    const ReplayOptions& options);

}  // namespace infold::lab
