// SPDX-License-Identifier: Apache-2.0
//
// The state of a switch at one moment, for metrics and for its final report. Both planes fill it
// in. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "control/registry/job_registry.h"
#include "site/packet_counts.h"

namespace infold::site {

// Datagrams, and their bytes without headers.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// The counters of one job.
struct JobPackets {
  std::uint16_t job = 0;
  core::VerdictCounters verdicts{};
  std::size_t memory_bytes = 0;
};

// The work of a switch in user space to move packets.
struct SocketWork {
  std::uint64_t calls_received = 0;  // system calls, or messages in one
  std::uint64_t calls_sent = 0;
  std::uint64_t unsent = 0;  // datagrams that the kernel did not take
};

struct SwitchStatus {
  const char* plane = "user";
  std::vector<control::JobStatus> jobs;
  std::uint32_t slots = 0;  // of each site, for all jobs together
  std::uint32_t slots_used = 0;
  bool counts_traffic = true;  // false: received and sent are unknown
  Traffic received;
  Traffic sent;
  PacketCounts packets{};             // of all jobs, present and removed
  std::vector<JobPackets> by_job;     // of present jobs
  std::size_t memory_bytes = 0;       // of slots
  std::optional<SocketWork> sockets;  // none for a switch in the kernel
};

}  // namespace infold::site
