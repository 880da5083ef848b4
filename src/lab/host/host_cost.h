// SPDX-License-Identifier: Apache-2.0
//
// The processor time of one rank for a GB of tensor, with its parts, beside its bound and Gloo's
// time. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"
#include "lab/host/host_jobs.h"
#include "lab/host/parts.h"

namespace infold::lab {

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

// Of the round with the median time.
struct HostCost {
  std::string implementation;  // "infold-native", "gloo-ring"
  HostSample job;
  std::optional<HostParts> parts;  // of infold
  double bound_s = 0;              // likewise
  double of_gloo = 0;              // its time for a GB, divided by Gloo's; 0: not measured

  // Of a rank in a job, what no part has: wake-ups, switching between processes, lines that other
  // processes have driven out of the caches.
  double rest_s() const { return job.cpu_s_per_gb - (parts ? sum_of(*parts) : 0); }
};

// Each round measures each implementation once, in an order that turns from round to round. `begin`
// is told before each. Throws std::runtime_error with the reason if one fails, or if the user wants
// to stop.
std::vector<HostCost> measure_host(
    HostJobs& jobs, const HostShape& shape, const HostOptions& options,
    const std::function<void(unsigned round, const std::string& implementation)>& begin);

}  // namespace infold::lab
