// SPDX-License-Identifier: Apache-2.0
//
// All metrics of a switch: their values at one moment, and the page that shows them. The structs
// are plain values. A plane fills them in its metrics(), and a registrar fills in the values of its
// jobs. docs/HACKING.md says what a new metric needs, and docs/monitoring.md what each one means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace infold::status {

// Packets of one verdict. site/packet_counts.h lists the verdicts and fills in their names.
struct PacketCount {
  const char* verdict = "";
  std::uint64_t packets = 0;
};

// Datagrams, and their bytes without headers.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// The work that a switch in user space does to move packets.
struct SocketWork {
  std::uint64_t calls_received = 0;  // system calls, or messages if one call takes several
  std::uint64_t calls_sent = 0;
  std::uint64_t unsent = 0;  // datagrams that the kernel did not take
};

struct JobMetrics {
  std::string name;
  std::uint16_t job = 0;
  std::uint32_t world = 0;
  std::uint32_t ranks = 0;  // ranks that are in the job now
  std::uint32_t slots = 0;
  bool running = false;
  std::vector<PacketCount> packets = {};  // empty if the plane does not count packets by job
};

struct SwitchMetrics {
  const char* plane = "user";
  std::vector<JobMetrics> jobs;
  std::uint32_t slots = 0;  // slots of each site, for all jobs together
  std::uint32_t slots_used = 0;
  std::size_t memory_bytes = 0;  // the memory of all slots
  bool counts_traffic = true;    // false: received and sent are unknown
  Traffic received;
  Traffic sent;
  std::vector<PacketCount> packets;   // counts for all jobs, also removed ones, if counted
  std::optional<SocketWork> sockets;  // none for a switch in the kernel

  // Returns 0 for a verdict that this plane does not count.
  std::uint64_t packets_of(std::string_view verdict) const;
};

// Returns all metrics in the format of prometheus.h. `version` is the version of the switch.
std::string metrics_text(const SwitchMetrics& metrics, std::string_view version);

}  // namespace infold::status
