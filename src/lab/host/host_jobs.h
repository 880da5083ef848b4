// SPDX-License-Identifier: Apache-2.0
//
// Whole jobs over loopback, for the processor time of one of their ranks. Gloo's ring is the peer.
// One job at a time on a machine. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lab/compare/lab.h"
#include "lab/measure/processor_time.h"

namespace infold::lab {

// How a job's processes share cores.
struct HostShape {
  const char* name;
  const char* text;          // for people
  std::uint64_t ranks;       // beside a switch
  std::uint64_t gloo_ranks;  // of the ring
  bool apart;                // each process has a core of its own; else all share two
};
std::span<const HostShape> host_shapes();

struct HostJob {
  std::uint64_t bytes = 0;
  std::uint32_t mtu = 1500;  // of infold's packets
  unsigned iterations = 1;
};

// Of rank 0.
struct HostSample {
  double cpu_s_per_gb = 0;
  ProcessorTime cpu_per_gb;  // of infold
  double median_ms = 0;
  double p99_ms = 0;
  // Of infold: packets in a message to the kernel and from it, on average.
  double sent_together = 0;
  double received_together = 0;
};

class HostJobs {
 public:
  // Throws std::runtime_error if another process measures on this machine, or this process has one
  // core only.
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

}  // namespace infold::lab
