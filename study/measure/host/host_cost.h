// SPDX-License-Identifier: Apache-2.0
//
// The processor time that one rank needs for a GB of tensor, with its parts, compared with its
// bound and with Gloo's time. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "study/measure/host/host_jobs.h"
#include "study/measure/host/parts.h"

namespace infold::measure {

struct HostWire {
  const char* name;
  core::WireFormat format;
};
std::span<const HostWire> host_wires();

struct HostOptions {
  std::vector<HostWire> wires;
  HostJob job;
  unsigned rounds = 5;
  bool with_gloo = false;
};

// The figures of the round with the median time.
struct HostCost {
  std::string implementation;  // "infold-native", "gloo-ring"
  HostSample job;
  std::optional<HostParts> parts;  // for infold
  double bound_s = 0;              // for infold
  double of_gloo = 0;              // the time for a GB divided by Gloo's; 0: not measured

  // The time that a rank in a job needs but no part has: wake-ups, switching between processes, and
  // cache lines that other processes have evicted.
  double rest_s() const { return job.cpu_s_per_gb - (parts ? sum_of(*parts) : 0); }
};

// Each round measures every implementation once, in an order that rotates from round to round.
// `begin` is called before each measurement. Throws std::runtime_error with the reason if one fails
// or the user wants to stop.
std::vector<HostCost> measure_host(
    HostJobs& jobs, const HostShape& shape, const HostOptions& options,
    const std::function<void(unsigned round, const std::string& implementation)>& begin);

}  // namespace infold::measure
