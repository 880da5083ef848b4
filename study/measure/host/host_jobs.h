// SPDX-License-Identifier: Apache-2.0
//
// Runs whole jobs over loopback and reports the processor time of one of their ranks. The rival is
// Gloo's ring. A machine runs one such job at a time. Used by one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "study/measure/compare/lab.h"
#include "study/measure/cost/processor_time.h"

namespace infold::measure {

// How the processes of a job share cores.
struct HostShape {
  const char* name;
  const char* text;          // for people
  std::uint64_t ranks;       // beside a switch
  std::uint64_t gloo_ranks;  // in the ring
  bool apart;                // true: each process has its own core; false: all share two cores
};
std::span<const HostShape> host_shapes();

struct HostJob {
  std::uint64_t bytes = 0;
  std::uint32_t mtu = 1500;  // for infold's packets
  unsigned iterations = 1;
};

// The figures of rank 0.
struct HostSample {
  double cpu_s_per_gb = 0;
  ProcessorTime cpu_per_gb;  // for infold
  double median_ms = 0;
  double p99_ms = 0;
  // For infold: the average number of packets in one message to the kernel, and in one from it.
  double sent_together = 0;
  double received_together = 0;
};

class HostJobs {
 public:
  // Throws std::runtime_error if another process measures on this machine, or this process has only
  // one core.
  HostJobs();

  bool has_gloo() const;
  // Both throw std::runtime_error with the reason if the job fails, its sum is wrong, or the user
  // wants to stop.
  HostSample infold(const HostShape& shape, const std::string& wire, const HostJob& job);
  HostSample gloo(const HostShape& shape, const HostJob& job);

 private:
  HostSample run(Launch launch);

  Lab lab_;
  std::vector<int> cores_;
};

}  // namespace infold::measure
